// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "simulator/ptx/instruction.h"

namespace weft::cuda_device {

// For each instruction of a kernel whether a basic block begins with it, and one more element, which is true.
std::vector<bool> begins_of_blocks(const std::vector<Instruction>& code);

}  // namespace weft::cuda_device
