// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "model/transformer.h"

namespace weft {

// The name and shape of every parameter of a model, including its adapters.
std::vector<std::pair<std::string, Shape>> parameters_of(const ModelSpec& spec);

}  // namespace weft
