#pragma once
#include "kernels/context.h"
#include "kernels/cpu/cpu_backend.h"

namespace weft::test {

inline cpu::MatmulEngine& engine_of(Context& context) {
  return dynamic_cast<cpu::CpuBackend&>(context.backend()).matmul();
}

}  // namespace weft::test
