// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "parallel/nccl/library.h"

namespace weft {

// How NCCL adds: the order of a sum follows from the algorithm and, since it says which chunk of a message begins
// where, from the protocol. NCCL chooses both for each message by its model of the machine. Its public interface lets a
// program choose through the environment, for a whole process and each function, or through a tuner plugin, a library
// beside the program, for each size of message. weft's sums that take time have one size, the largest: buckets of
// gradients, and the activations of a micro-batch. For these NCCL itself chooses rings and the protocol Simple, unless
// the switch adds. So all sums use them, set through the environment, and no plugin is needed. Gathers and broadcasts
// add nothing: NCCL chooses.
//
// An NCCL_ALGO or NCCL_PROTO that the environment has already stays.
//
// Call it before the first communicator. Returns the choice, for the fingerprint: "NCCL 2.28.9, algorithms
// allreduce:ring;reducescatter:ring, protocols allreduce:simple;reducescatter:simple".
std::string pin_sums(const NcclLibrary& library);

}  // namespace weft
