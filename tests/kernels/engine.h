// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/support/operation_context.h"

namespace weft::test {

// For a context of the CPU.
inline cpu::MatmulEngine& engine_of(Context& context) {
  return dynamic_cast<cpu::CpuBackend&>(context.backend()).matmul();
}

// The ways of computing bf16 products: the CPU's engine can also emulate them, a device cannot.
inline std::vector<bool> emulations() { return operations_on_cuda() ? std::vector{false} : std::vector{false, true}; }

}  // namespace weft::test
