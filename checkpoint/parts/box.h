// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/tensor.h"

namespace weft {

// The buffer of the master weights, which every checkpoint has.
inline constexpr const char* kMasterBuffer = "master";

// A piece of a logical tensor: the box that begins at `origin` in the global tensor `shape`, contiguous in `data`
// (whose shape is the box's extent). Buffers of one parameter (kMasterBuffer, "moment1", ...) share name and shape.
struct TensorBox {
  std::string buffer;
  std::string name;
  Shape shape;
  std::vector<int64_t> origin;
  Tensor data;
};

// A box of a tensor: its first index and its size in every dim.
struct Box {
  std::vector<int64_t> origin;
  Shape extent;
};

// Elements [begin, end) of a contiguous tensor as boxes, in order: at most 2 rank - 1 of them.
std::vector<Box> cut_flat(const Shape& shape, int64_t begin, int64_t end);

// Elements of a box that lie end to end in the tensor too: how many, and the row-major index of the first in the
// tensor.
struct ElementRun {
  int64_t index = 0, elements = 0;
};
// The runs of a box of a tensor, in order: all of the same length, and as few as there are.
std::vector<ElementRun> runs_of(const Shape& shape, const Box& box);

// Whether the box at `origin` with `extent` has an element in common with another box of the same tensor.
bool overlaps(const std::vector<int64_t>& origin, const Shape& extent, const TensorBox& box);

// Copies the elements that two boxes of one tensor have in common, row by row: `from` holds the box at from_origin
// with from_extent, `to` holds `box`, whose data is not touched. Returns the number of elements copied.
int64_t copy_overlap(const std::byte* from, const std::vector<int64_t>& from_origin, const Shape& from_extent,
                     const TensorBox& box, std::byte* to);

}  // namespace weft
