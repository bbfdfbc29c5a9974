// SPDX-License-Identifier: Apache-2.0
#include "bench/peak_gflops.h"

#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/matmul.h"
#include "kernels/transfer.h"

namespace weft {
namespace {

struct Product {
  int64_t rows, columns, inner;
  bool transpose_b;
  double flops() const { return 2.0 * static_cast<double>(rows) * static_cast<double>(columns * inner); }
};

// Small numbers that differ, so that no product overflows or meets denormals.
Tensor matrix(Context& context, int64_t rows, int64_t columns, DType dtype) {
  std::vector<float> numbers(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(static_cast<int>(i % 17) - 8) * 0.01f;
  const Tensor values = to_device(context, std::span<const float>(numbers)).view({rows, columns});
  if (dtype == DType::F32) return values;
  const Tensor narrow = context.empty({rows, columns}, dtype);
  convert(context, values, narrow);
  return narrow;
}

double best_seconds(Context& context, const Product& p, DType dtype, int repeats) {
  const Matmul args{
      .a = matrix(context, p.rows, p.inner, dtype),
      .b = p.transpose_b ? matrix(context, p.columns, p.inner, dtype) : matrix(context, p.inner, p.columns, dtype),
      .c = context.empty({p.rows, p.columns}, DType::F32),
      .transpose_b = p.transpose_b};
  matmul(context, args);
  context.finish();
  double best = 0;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    matmul(context, args);
    context.finish();
    const double seconds = seconds_since(start);
    best = i == 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

}  // namespace

PeakGflops measure_peak_gflops(Context& context, DType dtype, int repeats) {
  require<InternalError>(!context.meta() && repeats > 0, "the peak is measured on a device that computes");
  std::vector<Product> sweep = {{1024, 1024, 1024, false}, {2048, 2048, 2048, false}, {3072, 3072, 3072, false},
                                {2048, 2048, 2048, true},  {4096, 3072, 768, true},   {4096, 768, 3072, true}};
  // These products are large enough for a processor, but not for a GPU.
  if (context.device().kind == DeviceKind::Cuda) sweep.push_back({8192, 8192, 8192, true});
  PeakGflops best;
  for (const Product& p : sweep) {
    const double gflops = p.flops() / best_seconds(context, p, dtype, repeats) * 1e-9;
    if (gflops > best.gflops) best = {gflops, fmt::format("{} x {} x {}", p.rows, p.columns, p.inner)};
  }
  return best;
}

}  // namespace weft
