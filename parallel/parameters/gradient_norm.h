// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "parallel/parameters/parameter.h"

namespace weft {

// The parts of the reduced gradient that this rank counts: the ranks together count each element of the model once, on
// any layout. The sum over the world of their squares is the squared norm. The parts are the same in every step.
std::vector<Tensor> counted_gradients(const ParameterRegistry& registry);

}  // namespace weft
