// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft::cuda_device {

// A kernel's name as the source has it, "layer_norm<float>", of its mangled one.
std::string readable_name(const std::string& mangled);

}  // namespace weft::cuda_device
