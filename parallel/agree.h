// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "parallel/communicator.h"

namespace weft {

// One rank decides, or finds out, for all: runs `rank0_work` on rank 0 and returns its text on every rank. If it
// throws, every rank throws the same: an Error of the same class with the same text and hint. Errors of the file system
// become DataError, other exceptions InternalError. Collective; the others wait for rank 0 in a broadcast.
std::string agree(Communicator& world, const std::function<std::string()>& rank0_work);

// Every rank finds out for itself: runs `work` on all of them. If it throws on some, all throw the error of the lowest
// of these, as agree() does. Collective.
void agree_each(Communicator& world, const std::function<void()>& work);

// The text of the lowest rank whose `mine` is not empty, on every rank; "" if all are. Collective.
std::string first_text(Communicator& world, const std::string& mine);

// The texts of all ranks of an axis (any bytes), in the order of ranks, on every rank. It takes one broadcast per rank:
// for a few texts at the end of something, not for every step.
std::vector<std::string> gather_texts(Communicator& axis, const std::string& mine);

}  // namespace weft
