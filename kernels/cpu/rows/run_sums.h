// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/parallel_for.h"
#include "kernels/tensor.h"

// Column sums over fixed runs of rows, then over the runs in order: their bits do not depend on the number of threads.
namespace weft::cpu {

inline constexpr int64_t kRowsPerRun = 16;  // the fewest rows of a run
inline constexpr int64_t kRuns = 64;        // the most runs

inline int64_t runs_of(int64_t rows) { return std::clamp<int64_t>(rows / kRowsPerRun, 1, kRuns); }

// Calls body(run, worker, begin, end) for each run of rows.
template <class Body>
void for_runs(int threads, int64_t rows, Body&& body) {
  const int64_t runs = runs_of(rows);
  parallel_workers(threads, runs,
                   [&](int64_t run, int worker) { body(run, worker, rows * run / runs, rows * (run + 1) / runs); });
}

// to[c] (+)= partial[0][c] + partial[1][c] + ..., rows of `stride` columns; the runs are summed first, in their order.
template <class A>
void add_runs(A* partial, int64_t runs, int64_t stride, const Gradient& to) {
  const int64_t width = to.tensor.elements();
  for (int64_t run = 1; run < runs; ++run) {
    for (int64_t c = 0; c < width; ++c) partial[c] += partial[run * stride + c];
  }
  A* out = to.tensor.device_data<A>();
  if (to.mode == Accumulate::Overwrite) {
    std::copy_n(partial, width, out);
  } else {
    for (int64_t c = 0; c < width; ++c) out[c] += partial[c];
  }
}

}  // namespace weft::cpu
