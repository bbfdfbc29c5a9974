// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/formulas/host_device.h"

namespace weft::formulas {

// The factor that completes attention's weighted sums; 0 for a row that sees no key. The rest of the softmax differs:
// the CPU's kernels take exponentials of scaled scores, CUDA's powers of 2 of unscaled ones, which the hardware has.
template <class A>
WEFT_HOST_DEVICE inline A inverse_sum(A sum) {
  return sum == 0 ? A{0} : A{1} / sum;
}

}  // namespace weft::formulas
