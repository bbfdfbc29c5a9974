#pragma once
#include "parallel/parameter.h"

namespace weft {

// This rank's share of the squared norm of the reduced gradients: the sum of all ranks' shares counts every parameter
// once, whatever tp shards or replicates and whatever the replicas divide. The replicas divide the work too.
double squared_norm_share(ParameterRegistry& registry);

}  // namespace weft
