// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "checkpoint/parts/stretch.h"
#include "parallel/parameters/parameter.h"

namespace weft {

// A buffer with the layout of the registry's parameters, and its name in a checkpoint.
struct NamedBuffer {
  std::string name;
  FlatBuffer flat;
};

// The boxes that this rank reads on resume: its part of every parameter in every buffer. Of a buffer that replicas
// divide, that is the part that the rank owns.
std::vector<TensorBox> local_boxes(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers);

// This rank's part of the master weights, which is all that a model needs if it is not trained.
std::vector<TensorBox> master_boxes(const ParameterRegistry& registry);

// The arrays that this rank writes: one for each range that it owns in each buffer, a bucket's share if the replicas
// divide the buffer. If every dp replica holds whole buffers, each writes parameters of about equal total size.
std::vector<OwnedArray> owned_arrays(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers);

// The bytes of owned_arrays() on the rank that writes most: the size of its copy during a save.
uint64_t largest_part_bytes(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers);

}  // namespace weft
