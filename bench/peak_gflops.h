// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "kernels/context.h"

namespace weft {

// The rate of this device's library in products that suit it: the measured peak that a training step is compared with.
struct PeakGflops {
  double gflops = 0;
  std::string shape;  // of the fastest product, "2048 x 2048 x 2048"
};

// The best of a sweep of large products (squares, and the shapes of GPT-2's layers), each run `repeats` times after a
// first run. Inputs of `dtype` (f32 or bf16), sums and result in f32. Takes about 100 MB, on CUDA up to 800 MB.
PeakGflops measure_peak_gflops(Context& context, DType dtype, int repeats = 5);

}  // namespace weft
