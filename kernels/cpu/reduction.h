// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/convert.h"
#include "kernels/ops/reduction.h"

namespace weft::cpu {

// partial: [threads, columns].
template <class T>
void sum_rows(const SumRows& args, Accumulator<T>* partial, int threads) {
  using Acc = Accumulator<T>;
  const int64_t columns = args.x.columns();
  const T* from = args.x.device_data<T>();
  row_pieces(threads, args.x.rows(), columns, partial, [=](int64_t begin, int64_t end, Acc* sums) {
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t c = 0; c < columns; ++c) sums[c] += element_cast<Acc>(from[r * columns + c]);
    }
  });
  add_pieces(threads, columns, partial, args.out.device_data<Acc>(), args.mode == Accumulate::Add);
}

}  // namespace weft::cpu
