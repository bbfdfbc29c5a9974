// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/products/reference_matmul.h"

#include <algorithm>

#include "base/parallel_for.h"

namespace weft::cpu {

void matmul_f64(const Gemm& g, int threads) {
  const auto* a = static_cast<const double*>(g.a);
  const auto* b = static_cast<const double*>(g.b);
  const auto* bias = static_cast<const double*>(g.bias);
  auto* c = static_cast<double*>(g.c);
  const auto a_at = [&](int64_t i, int64_t p) { return g.transpose_a ? a[p * g.m + i] : a[i * g.k + p]; };
  parallel_for(threads, g.m, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double* row = c + i * g.n;
      if (!g.add) std::fill_n(row, g.n, 0.0);
      if (g.transpose_b) {
        for (int64_t j = 0; j < g.n; ++j) {
          double sum = 0;
          for (int64_t p = 0; p < g.k; ++p) sum += a_at(i, p) * b[j * g.k + p];
          row[j] += sum;
        }
      } else {
        for (int64_t p = 0; p < g.k; ++p) {
          const double factor = a_at(i, p);
          for (int64_t j = 0; j < g.n; ++j) row[j] += factor * b[p * g.n + j];
        }
      }
      for (int64_t j = 0; bias && j < g.n; ++j) row[j] += bias[j];
    }
  });
}

}  // namespace weft::cpu
