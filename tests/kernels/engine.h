// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/support/operation_context.h"

namespace weft::test {

// Of the CPU alone.
inline cpu::MatmulEngine& engine_of(Context& context) {
  return dynamic_cast<cpu::CpuBackend&>(context.backend()).matmul();
}

// Whether bf16 products are emulated: the CPU's engine has both ways, a device one.
inline std::vector<bool> emulations() { return operations_on_cuda() ? std::vector{false} : std::vector{false, true}; }

}  // namespace weft::test
