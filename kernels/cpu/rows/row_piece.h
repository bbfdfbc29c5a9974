// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cpu/convert.h"
#include "kernels/cpu/dropout.h"

namespace weft::cpu {

inline int64_t row_grain(int64_t columns) { return kElementGrain / std::max<int64_t>(columns, 1) + 1; }

// Some elements of a row in the accumulator dtype, so that several steps on them round once.
template <class A>
class RowPiece {
 public:
  // Calls body(column, n) for pieces of a row.
  template <class Body>
  static void for_each(int64_t columns, Body&& body) {
    for (int64_t c = 0; c < columns; c += kElements) body(c, std::min(kElements, columns - c));
  }

  void drop(const DropoutMask& mask, int64_t row, int64_t column, int64_t n) {
    if (!mask.active()) return;
    mask.multipliers(row, column, n, scale_.data());
    for (int64_t i = 0; i < n; ++i) values_[i] *= scale_[i];
  }
  A* values() { return values_.data(); }

 private:
  static constexpr int64_t kElements = 512;
  alignas(64) std::array<A, kElements> values_, scale_;
};

}  // namespace weft::cpu
