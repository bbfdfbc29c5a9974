// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "checkpoint/parts/stretch.h"
#include "parallel/parameters/parameter.h"

namespace weft {

// A buffer laid out as the registry's parameters are, under its name in a checkpoint.
struct NamedBuffer {
  std::string name;
  FlatBuffer flat;
};

// This rank's part of every parameter in every buffer, which it reads on resume; of a buffer that the replicas divide,
// the part that it owns.
std::vector<TensorBox> local_boxes(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers);

// This rank's part of the weights, which is all that a model reads that is not trained.
std::vector<TensorBox> master_boxes(const ParameterRegistry& registry);

// The arrays that this rank writes: of each buffer one for each range that it owns, a bucket's share if the replicas
// divide it. Of buffers that every dp replica holds whole, each writes parameters of about equal total size.
std::vector<OwnedArray> owned_arrays(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers);

// The bytes of owned_arrays() on the rank that writes most: the size of a save's copy there.
uint64_t largest_part_bytes(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers);

}  // namespace weft
