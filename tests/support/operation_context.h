// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"

namespace weft::test {

// The device of the tests of operations: the CPU, or with WEFT_TEST_DEVICE=cuda the CUDA device of index 0, real or
// simulated. On CUDA, tensors are in managed memory, which host and device share, and each operation is done when
// it returns, so that tests read and write tensors as on the CPU; f64, for which CUDA has no maths, is computed by
// the CPU. Each tensor is an allocation of its own size that begins as NaN: a read behind its end, or of an element
// that nothing has written, is not that of a useful number.
class OperationContext : public Context {
 public:
  explicit OperationContext(Device device = {}, int threads = 1);
};

// Whether operations run on CUDA: some expectations hold only on the CPU.
bool operations_on_cuda();

}  // namespace weft::test
