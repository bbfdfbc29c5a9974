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
// A job's field also states what a change of its value affects, unless that is the training (see Affects):
//   v.field("every_steps", every_steps, "Steps between lines.", {Range{.min = 1}, Affects::Nothing});
// Supported types: bool, int64_t, double, std::string, Duration, enums with EnumNames, structs with fields() (a nested
// section), and std::optional and std::vector of these. `meaning` is one sentence with the unit; a Range includes its
// ends.
namespace weft {

struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

// What a change of a field affects in a run that is resumed with the new value. Training: the user must allow it.
// Evaluation: measurements before and after cannot be compared.
enum class Affects : uint8_t { Training, Evaluation, Nothing };

// The properties of a field besides its name and meaning. If it does not state what it affects, its section does; if no
// section does either, it is Training: a new key cannot change a resumed run unnoticed.
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

// Throws the InternalError for a value of an enum that its EnumNames lacks.
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
