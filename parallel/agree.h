// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "parallel/communicator.h"

namespace weft {

// Runs `rank0_work` on rank 0, which decides for all ranks, and returns its text on every rank. If `rank0_work` throws,
// every rank throws an Error of the same class with the same text and hint. Errors of the file system become DataError,
// other exceptions InternalError. Collective; the other ranks wait for rank 0 in a broadcast.
std::string agree(Communicator& world, const std::function<std::string()>& rank0_work);

// Runs `work` on every rank, each for itself. If `work` throws on some ranks, all ranks throw the error of the lowest
// of these ranks, as agree() does. Collective.
void agree_each(Communicator& world, const std::function<void()>& work);

// Returns, on every rank, the `mine` of the lowest rank that has a non-empty one; "" if all are empty. Collective.
std::string first_text(Communicator& world, const std::string& mine);

// Returns the texts of all ranks of an axis (any bytes), in rank order, on every rank. It takes one broadcast per rank:
// for a few texts at the end of a piece of work, not for every step.
std::vector<std::string> gather_texts(Communicator& axis, const std::string& mine);

// Returns the texts of all ranks (any bytes), in rank order, on rank 0; nothing on the others. For large texts: rank 0
// holds as many bytes as the longest has, for each rank. Collective.
std::vector<std::string> gather_on_rank0(Communicator& axis, const std::string& mine);

}  // namespace weft
