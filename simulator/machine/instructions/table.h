// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string_view>

namespace weft::cuda_device {

// The first words of all instructions that decode() knows.
std::set<std::string_view> known_instructions();

}  // namespace weft::cuda_device
