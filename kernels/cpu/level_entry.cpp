// SPDX-License-Identifier: Apache-2.0
// Compiled once per level above v2: the build gives the function its name (kernels/CMakeLists.txt).
#include "kernels/cpu/cpu_backend.h"

extern "C" weft::Backend* WEFT_CPU_ENTRY(int threads, weft::CpuLevel level);

extern "C" weft::Backend* WEFT_CPU_ENTRY(int threads, weft::CpuLevel level) {
  return new weft::cpu::CpuBackend(threads, weft::host_allocator(), level);
}
