// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft::cuda_device {

// A kernel's name as in the source, "layer_norm<float>", from its mangled name.
std::string readable_name(const std::string& mangled);

}  // namespace weft::cuda_device
