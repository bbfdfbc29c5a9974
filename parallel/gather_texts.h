// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "parallel/communicator.h"

namespace weft {

// The texts of all ranks of an axis (any bytes), in the order of ranks, on every rank. One broadcast a rank: for a few
// texts at the end of something, not for every step.
std::vector<std::string> gather_texts(Communicator& axis, const std::string& mine);

}  // namespace weft
