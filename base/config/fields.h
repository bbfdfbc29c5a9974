// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_table.h"

// A configuration struct declares each field once:
//
//   struct ScheduleConfig {
//     int64_t warmup = 0;
//     Decay decay = Decay::Cosine;
//     template <class Visitor>
//     void fields(Visitor& v) {
//       v.field("warmup", warmup, "Steps over which the rate rises linearly from 0.", Range{.min = 0});
//       v.field("decay", decay, "How the rate falls after the warm-up.");
//     }
//   };
//
// The same declaration reads YAML and `--set a.b=c` (base/config/reader.h), prints help, the resolved job, the docs
// table and differences (base/config/writer.h).
// A job's field also says what another value of it affects, unless that is the training (see Affects):
//   v.field("every_steps", every_steps, "Steps between lines.", {Range{.min = 1}, Affects::Nothing});
// Supported types: bool, int64_t, double, std::string, Duration, enums with EnumNames, structs with fields() (a nested
// section), and std::optional and std::vector of these. `meaning` is one sentence with the unit; a Range includes its
// ends.
namespace weft {

struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

// What another value of a field changes for a run that is resumed with it: what is learned, so that it must be allowed;
// what evaluations measure, so that those before and after cannot be compared; or neither.
enum class Affects : uint8_t { Training, Evaluation, Nothing };

// What a field says besides its name and meaning. Where it does not say what it affects, its section does; where no
// section does either, it is Training: a new key cannot change a resumed run in silence.
struct FieldProperties {
  FieldProperties() = default;
  FieldProperties(Range values) : range(values) {}
  FieldProperties(Affects what) : affects(what) {}
  FieldProperties(Range values, Affects what) : range(values), affects(what) {}
  Range range;
  std::optional<Affects> affects;
};

// A length of time, written with its units from the largest to the smallest: 3h45m, 90s, 1d12h.
struct Duration {
  int64_t seconds = 0;
  bool operator==(const Duration&) const = default;
};

// Specialise for every enum that a configuration uses:
//   enum class Decay { Linear, Cosine };
//   template <> struct EnumNames<Decay> {
//     static constexpr auto kNames = enum_names<Decay>("linear", "cosine");
//   };
// Names that are numbers ("0") are read and written as numbers.
template <class E>
struct EnumNames;

template <class E>
concept NamedEnum = requires {
  EnumNames<E>::kNames;
};

// InternalError: a value of an enum that its EnumNames leaves out is asked for its name.
[[noreturn]] void throw_no_name(int64_t value);

template <NamedEnum E>
constexpr std::string_view enum_name(E value) {
  for (const auto& [name, v] : EnumNames<E>::kNames) {
    if (v == value) return name;
  }
  throw_no_name(static_cast<int64_t>(value));
}

struct AnyVisitor {
  template <class T>
  void field(const char*, T&, const char*, const FieldProperties& = {}) {}
};
template <class T>
concept Section = requires(T& section, AnyVisitor& v) {
  section.fields(v);
};

}  // namespace weft
