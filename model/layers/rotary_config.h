// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/config/fields.h"
#include "kernels/ops/heads.h"

namespace weft {

// How the angles of rotary positions are changed for sequences longer than those of a first training.
enum class RotaryScaling : uint8_t { None, Linear, Llama3 };

template <>
struct EnumNames<RotaryScaling> {
  static constexpr auto kNames = enum_names<RotaryScaling>("none", "linear", "llama3");
};

// Rotary positions (Su et al. 2021): pair i of a head at position t is turned by t base^(-2 i / head_dim).
struct RotaryConfig {
  RotaryForm form = RotaryForm::Halves;
  double base = 10000;
  RotaryScaling scaling = RotaryScaling::None;
  double factor = 1;
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  int64_t original_length = 8192;

  template <class Visitor>
  void fields(Visitor& v) {
    const Range positive{.min = 1e-3, .max = 1e6};
    v.field("form", form,
            "Which two features of a head turn together: i and i + head_dim / 2 (halves), or 2 i and 2 i + 1 "
            "(interleaved).");
    v.field("base", base, "Pair i turns by t base^(-2 i / head_dim) at position t; rope_theta of Hugging Face.",
            Range{.min = 1.5, .max = 1e12});
    v.field(
        "scaling", scaling,
        "For longer sequences than were trained before: none; linear, all angles divided by factor; llama3, those of "
        "long wavelengths divided by factor, those of short ones kept, and between them a mixture.");
    v.field("factor", factor, "What scaling divides angles by.", positive);
    v.field("low_frequency_factor", low_frequency_factor,
            "llama3: wavelengths above original_length / low_frequency_factor are scaled whole.", positive);
    v.field("high_frequency_factor", high_frequency_factor,
            "llama3: wavelengths below original_length / high_frequency_factor are not scaled.", positive);
    v.field("original_length", original_length, "llama3: the longest sequence of the first training, in tokens.",
            Range{.min = 1, .max = 1 << 24});
  }
};

}  // namespace weft
