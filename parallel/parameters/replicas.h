// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "parallel/parameters/parameter.h"

namespace weft {

// PeerError on every rank unless all dp replicas hold the same bits of all values, and the ranks of each other axis the
// same bits of values that the axis does not divide. A failure is a defect of weft or of the hardware. Collective.
void require_equal_replicas(const ParameterRegistry& registry, int64_t step);

}  // namespace weft
