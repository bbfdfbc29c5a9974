// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "kernels/cpu/vec.h"

namespace weft::cpu {

// The sum of f(x[c]) over a row, in four running vectors and a tail: all rows of a width have one order.
template <class A, class F>
A row_sum(const A* x, int64_t n, F&& f) {
  constexpr int64_t kLanes = kVecLanes<A>;
  Vec<A> s0 = {}, s1 = {}, s2 = {}, s3 = {};
  int64_t c = 0;
  for (; c + 4 * kLanes <= n; c += 4 * kLanes) {
    s0 += f(load(x + c)), s1 += f(load(x + c + kLanes));
    s2 += f(load(x + c + 2 * kLanes)), s3 += f(load(x + c + 3 * kLanes));
  }
  for (; c + kLanes <= n; c += kLanes) s0 += f(load(x + c));
  A total = sum_of<A>((s0 + s1) + (s2 + s3));
  for (; c < n; ++c) total += f(x[c]);
  return total;
}

// The sum of f(x[c], y[c]), in two.
template <class A, class F>
A row_sum(const A* x, const A* y, int64_t n, F&& f) {
  constexpr int64_t kLanes = kVecLanes<A>;
  Vec<A> s0 = {}, s1 = {};
  int64_t c = 0;
  for (; c + 2 * kLanes <= n; c += 2 * kLanes) {
    s0 += f(load(x + c), load(y + c)), s1 += f(load(x + c + kLanes), load(y + c + kLanes));
  }
  for (; c + kLanes <= n; c += kLanes) s0 += f(load(x + c), load(y + c));
  A total = sum_of<A>(s0 + s1);
  for (; c < n; ++c) total += f(x[c], y[c]);
  return total;
}

}  // namespace weft::cpu
