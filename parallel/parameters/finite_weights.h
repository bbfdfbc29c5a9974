// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "parallel/parameters/parameter.h"

namespace weft {

// Whether all values that the optimizer updates are finite, on every rank: the same answer everywhere. It reads the
// values once. Collective.
bool finite_weights(const ParameterRegistry& registry);

}  // namespace weft
