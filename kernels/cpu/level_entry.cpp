// SPDX-License-Identifier: Apache-2.0
// Compiled once per level above v2: the build gives the function its name (cmake/WeftCpuLevels.cmake).
#include "kernels/cpu/cpu_backend.h"

extern "C" weft::Backend* WEFT_CPU_ENTRY(int threads);

extern "C" weft::Backend* WEFT_CPU_ENTRY(int threads) { return new weft::cpu::CpuBackend(threads); }
