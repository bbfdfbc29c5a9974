// SPDX-License-Identifier: Apache-2.0
#include "simulator/ptx/basic_blocks.h"

namespace weft::cuda_device {

std::vector<bool> begins_of_blocks(const std::vector<Instruction>& code) {
  std::vector<bool> begins(code.size() + 1);
  begins[0] = begins[code.size()] = true;
  for (size_t k = 0; k < code.size(); ++k) {
    if (code[k].flow != Flow::Branch && code[k].flow != Flow::Exit) continue;
    begins[k + 1] = true;
    if (code[k].flow == Flow::Branch) begins[size_t(code[k].target)] = true;
  }
  return begins;
}

}  // namespace weft::cuda_device
