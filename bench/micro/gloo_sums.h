// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "parallel/communicator.h"

namespace weft {

// Returns a function that sums a tensor of f32 elements on the host in place with Gloo's ring, over TCP on this
// machine; empty in a build without Gloo. This call and the function are collective.
std::function<void()> gloo_all_reduce(Communicator& world, const Tensor& tensor);

}  // namespace weft
