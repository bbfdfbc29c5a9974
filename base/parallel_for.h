// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace weft {

// Calls body(begin, end) on `threads` even, contiguous pieces of [0, n), one per thread; the split depends only on n,
// grain and threads, so sums over pieces are repeatable. Pieces are at least `grain` long.
template <class Body>
void parallel_for(int threads, int64_t n, int64_t grain, Body&& body) {
  const auto pieces = static_cast<int>(std::clamp<int64_t>(n / std::max<int64_t>(grain, 1), 1, threads));
  if (pieces == 1) {
    if (n > 0) body(int64_t{0}, n);
    return;
  }
  // The team always has `threads` members, idle ones included: libgomp ends and restarts threads when a team shrinks.
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int p = 0; p < pieces; ++p) body(n * p / pieces, n * (p + 1) / pieces);
}

// Calls body(i) for every task, handed out one at a time: for tasks of unequal cost whose results are independent.
template <class Body>
void parallel_tasks(int threads, int64_t n, Body&& body) {
#pragma omp parallel for num_threads(std::max(threads, 1)) schedule(dynamic, 1) if (threads > 1 && n > 1)
  for (int64_t i = 0; i < n; ++i) body(i);
}

// Calls body(i, worker) for every task in the same way: worker, below `threads`, is the index of the thread that runs
// the task, for scratch memory of that thread.
template <class Body>
void parallel_workers(int threads, int64_t n, Body&& body) {
  if (threads <= 1 || n <= 1) {
    for (int64_t i = 0; i < n; ++i) body(i, 0);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
#ifdef _OPENMP
    const int worker = omp_get_thread_num();
#else
    const int worker = 0;
#endif
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < n; ++i) body(i, worker);
  }
}

}  // namespace weft
