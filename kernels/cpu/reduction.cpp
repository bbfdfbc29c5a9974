#include "kernels/cpu/reduction.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/convert.h"

namespace weft::cpu {

void sum_rows(const Tensor& x, const Tensor& out, bool add, const Tensor& partial, int threads) {
  with_float_type(x.dtype(), [&]<class T>() {
    using Acc = Accumulator<T>;
    const int64_t columns = x.columns();
    const T* from = x.data<T>();
    row_pieces(threads, x.rows(), columns, partial.data<Acc>(), [=](int64_t begin, int64_t end, Acc* sums) {
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t c = 0; c < columns; ++c) sums[c] += element_cast<Acc>(from[r * columns + c]);
      }
    });
    add_pieces(threads, columns, partial.data<Acc>(), out.data<Acc>(), add);
  });
}

namespace {
constexpr int64_t kSumBlock = 16384;

// Four sums side by side: one alone would wait for each addition to finish.
template <bool kSquares, class T>
double sum_block(const T* x, int64_t n) {
  constexpr int64_t kLanes = 32;
  const auto term = [x](int64_t i) {
    const auto v = static_cast<double>(element_cast<Accumulator<T>>(x[i]));
    return kSquares ? v * v : v;
  };
  std::array<double, kLanes> sums{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int64_t l = 0; l < kLanes; ++l) sums[l] += term(i + l);
  }
  double sum = 0;
  for (; i < n; ++i) sum += term(i);
  for (const double s : sums) sum += s;
  return sum;
}
}  // namespace

int64_t sum_blocks(int64_t elements) { return (elements + kSumBlock - 1) / kSumBlock; }

// Blocks of a fixed length, so that the sum does not depend on the number of threads.
void sum_all(const Tensor& x, bool squares, const Tensor& out, const Tensor& partial, int threads) {
  with_float_type(x.dtype(), [&]<class T>() {
    const T* from = x.data<T>();
    double* sums = partial.data<double>();
    const int64_t n = x.elements(), blocks = sum_blocks(n);
    parallel_for(threads, blocks, 2, [=](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        const int64_t at = b * kSumBlock, count = std::min(n - at, kSumBlock);
        sums[b] = squares ? sum_block<true>(from + at, count) : sum_block<false>(from + at, count);
      }
    });
    double total = 0;
    for (int64_t b = 0; b < blocks; ++b) total += sums[b];
    *out.data<double>() = total;
  });
}

}  // namespace weft::cpu
