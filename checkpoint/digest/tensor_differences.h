// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/reader.h"

namespace weft {

// The elements of a tensor in one buffer that have other bits in a checkpoint than in memory.
struct TensorDifference {
  std::string buffer, name;
  int64_t elements = 0;
  int64_t first = 0;  // row-major index of the first in the global tensor
  bool operator==(const TensorDifference&) const = default;
};

// Compares the arrays that this rank owns with those of a checkpoint, one array in memory at a time. In the order of
// buffers and names. `on_progress` is called after every few megabytes. DataError if the checkpoint is damaged.
std::vector<TensorDifference> differences_from(const Checkpoint& checkpoint, Context& context,
                                               std::span<const OwnedArray> owned,
                                               const std::function<void()>& on_progress = {});

// The differences of all ranks' parts, on rank 0; nothing on the others. Collective.
std::vector<TensorDifference> differences_of_all(Communicator& world, const std::vector<TensorDifference>& mine);

}  // namespace weft
