#pragma once
#include <functional>

#include "checkpoint/manifest.h"

namespace weft {

// Reads a slice in pieces of whole rows of its first dim, so that memory never holds a second copy of a tensor, and
// gives each to `use` with its place in the tensor. Then the checksum of all of it is compared; DataError names file
// and tensor. Returns the bytes read.
using UsePiece = std::function<void(const std::byte* bytes, const std::vector<int64_t>& origin, const Shape& extent)>;
uint64_t read_slice(const File& file, const CheckpointSlice& slice, const UsePiece& use = {});

}  // namespace weft
