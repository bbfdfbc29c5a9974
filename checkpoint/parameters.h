// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "checkpoint/parts/stretch.h"
#include "parallel/parameters/parameter.h"

namespace weft {

// One buffer laid out as the registry's parameters, under the name that its tensors have in a checkpoint.
struct NamedBuffer {
  std::string name;
  FlatBuffer flat;
};

// This rank's part of every parameter in every buffer: what it reads on resume. Of a buffer that the replicas divide,
// what this one owns.
std::vector<TensorBox> local_boxes(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers);

// This rank's part of the weights, as a checkpoint holds them: what a model reads that is not trained on.
std::vector<TensorBox> master_boxes(const ParameterRegistry& registry);

// What this rank writes: of each buffer one array for each range that it owns, a bucket's share where the replicas
// divide it. Of buffers that every dp replica holds whole, each writes parameters of about equal size.
std::vector<OwnedArray> owned_arrays(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers);

// Bytes of those of the rank that writes most: what the copy of a save takes there.
uint64_t largest_part_bytes(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers);

}  // namespace weft
