// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "kernels/context.h"

namespace weft {

// What this device's library makes of matrix products that suit it: the measured peak that a training step is held to.
struct PeakGflops {
  double gflops = 0;
  std::string shape;  // of the fastest product, "2048 x 2048 x 2048"
};

// The best of a sweep of large products (squares, and the shapes of GPT-2's layers), each run `repeats` times after a
// first one. Inputs of `dtype` (f32 or bf16), sums and result in f32. Takes memory for the largest, about 100 MB.
PeakGflops measure_peak_gflops(Context& context, DType dtype, int repeats = 5);

}  // namespace weft
