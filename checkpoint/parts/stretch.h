// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/parts/box.h"

namespace weft {

// Elements [begin, end), in row-major order, of a box of a logical tensor: the box begins at `origin` in the global
// tensor `shape` and has the shape `extent`. Wherever memory is cut, a rank's part of a tensor consists of stretches.
struct Stretch {
  std::string name;
  Shape shape;
  std::vector<int64_t> origin;
  Shape extent;
  int64_t begin = 0, end = 0;
  int64_t elements() const { return end - begin; }
};

// Elements [begin, end) of a stretch, counted from its first element, as boxes of the tensor, in order.
std::vector<Box> boxes_of(const Stretch& stretch, int64_t begin, int64_t end);

// An array that a rank writes: stretches of one buffer, end to end.
struct OwnedArray {
  struct Piece {
    Stretch place;
    Tensor data;  // the elements of the stretch
  };
  std::string buffer;
  DType dtype = DType::F32;
  std::vector<Piece> pieces;
  uint64_t bytes() const;
};
// The bytes of copies of the arrays, each of which begins on a page, as direct I/O requires (base/direct_file.h).
uint64_t bytes_in_pages(std::span<const OwnedArray> arrays);

// Makes an array of each box.
std::vector<OwnedArray> arrays_of(std::span<const TensorBox> boxes);

}  // namespace weft
