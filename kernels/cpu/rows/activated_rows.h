// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/parallel_for.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/rows/row_piece.h"

namespace weft::cpu {

// Calls row.template operator()<Act>(r) for all rows of `columns` elements.
template <class Row>
void for_activated_rows(Activation activation, int64_t rows, int64_t columns, int threads, Row&& row) {
  with_activation(activation, [&]<Activation Act>() {
    parallel_for(threads, rows, row_grain(columns), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) row.template operator()<Act>(r);
    });
  });
}

}  // namespace weft::cpu
