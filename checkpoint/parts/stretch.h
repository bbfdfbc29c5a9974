// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/parts/box.h"

namespace weft {

// Elements [begin, end), in row-major order, of a box of a logical tensor: of the one that begins at `origin` in the
// global tensor `shape` and goes as far as `extent`. What a rank owns of a tensor, wherever its memory was cut.
struct Stretch {
  std::string name;
  Shape shape;
  std::vector<int64_t> origin;
  Shape extent;
  int64_t begin = 0, end = 0;
  int64_t elements() const { return end - begin; }
};

// Elements [begin, end) of a stretch, counted from its own first one, as boxes of the tensor, in order.
std::vector<Box> boxes_of(const Stretch& stretch, int64_t begin, int64_t end);

// What a rank writes of a buffer as one array: stretches, end to end.
struct OwnedArray {
  struct Piece {
    Stretch place;
    Tensor data;  // its elements
  };
  std::string buffer;
  DType dtype = DType::F32;
  std::vector<Piece> pieces;
  uint64_t bytes() const;
};
// Of copies of which each begins on a page, as they are written (base/direct_file.h).
uint64_t bytes_in_pages(std::span<const OwnedArray> arrays);

// Each box as an array of its own.
std::vector<OwnedArray> arrays_of(std::span<const TensorBox> boxes);

}  // namespace weft
