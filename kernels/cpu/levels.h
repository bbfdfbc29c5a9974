// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "kernels/backend/backend.h"
#include "kernels/device/cpu_level.h"

namespace weft::cpu {

// The CPU's backend, of the code for chosen_level(wanted): cmake/WeftCpuLevels.cmake compiles this folder once per
// level. InternalError if this process computes at another level than the wanted one already.
std::unique_ptr<Backend> make_cpu_backend(int threads, std::optional<CpuLevel> wanted);

// The level of this process, which its first call chooses: `wanted`, or processor_level(). There is one, since oneDNN
// takes one limit of its instruction sets, and only before its first use; MatmulEngine calls this before it asks oneDNN
// anything.
CpuLevel chosen_level(std::optional<CpuLevel> wanted = std::nullopt);

}  // namespace weft::cpu
