// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"

namespace weft::test {

// What the tests of operations run on: the CPU, or with WEFT_TEST_DEVICE=cuda the CUDA device of index 0, real or
// simulated. There tensors lie in managed memory, which host and device share, and each operation is done when it
// returns, so that tests read and write tensors as they do on the CPU; what CUDA has no maths for, f64, is computed by
// the CPU.
class OperationContext : public Context {
 public:
  explicit OperationContext(Device device = {}, int threads = 1);
};

// Whether operations are run on CUDA: for what is true of the CPU alone.
bool operations_on_cuda();

}  // namespace weft::test
