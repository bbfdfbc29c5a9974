// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "kernels/formulas/host_device.h"

namespace weft::formulas {

// The keys that a query sees, by their positions in a sequence: at most `before` before its own and `after` behind it.
// Int is a signed type.
struct Band {
  static constexpr int kFar = 1 << 30;  // further than any two positions, and far from what overflows
  int before = kFar, after = kFar;

  // `window`: keys at a distance below it; 0: any. A causal query sees none behind its own position.
  static Band of(bool causal, int64_t window) {
    const int far = window > 0 ? static_cast<int>(std::min<int64_t>(window - 1, kFar)) : kFar;
    return {.before = far, .after = causal ? 0 : far};
  }

  // A query at `position` sees keys first(position) .. end(position, keys) - 1 of `keys`, if there are any.
  template <class Int>
  WEFT_HOST_DEVICE Int first(Int position) const {
    return position > before ? position - before : 0;
  }
  template <class Int>
  WEFT_HOST_DEVICE Int end(Int position, Int keys) const {
    const Int behind = position + after + 1;
    return behind < keys ? behind : keys;
  }
  // From the other side: the queries that see a key.
  WEFT_HOST_DEVICE Band flipped() const { return {after, before}; }
};

}  // namespace weft::formulas
