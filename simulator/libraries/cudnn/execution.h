// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "simulator/libraries/cudnn/descriptor.h"
#include "simulator/runtime/simulator.h"

namespace weft::cuda_device {

// A sentence about the first pointer of a variant pack that breaks what the plan's tensors promise: each has memory, of
// a device, at its alignment, and the plan has its workspace. Empty: all is well.
std::string broken_promise(const Simulator& all, const Descriptor& plan, const Descriptor& pack, int64_t workspace);

}  // namespace weft::cuda_device
