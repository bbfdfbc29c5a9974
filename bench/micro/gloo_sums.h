// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "parallel/communicator.h"

namespace weft {

// Sums a tensor of the host's f32 elements in place with Gloo's ring, over TCP on this machine; empty in a build
// without Gloo. Collective, as what it returns.
std::function<void()> gloo_all_reduce(Communicator& world, const Tensor& tensor);

}  // namespace weft
