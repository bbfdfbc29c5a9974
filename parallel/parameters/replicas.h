// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "parallel/parameters/parameter.h"

namespace weft {

// Collective: PeerError on every rank unless all dp replicas hold the same bits of all values, and the ranks of each
// axis that divides a replica the same bits of those that the axis leaves whole. They do, or something is badly wrong.
void require_equal_replicas(const ParameterRegistry& registry, int64_t step);

}  // namespace weft
