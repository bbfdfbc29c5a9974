// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/parts/stretch.h"

#include "base/direct_file.h"

namespace weft {

std::vector<Box> boxes_of(const Stretch& stretch, int64_t begin, int64_t end) {
  std::vector<Box> boxes = cut_flat(stretch.extent, stretch.begin + begin, stretch.begin + end);
  for (Box& box : boxes) {
    for (size_t d = 0; d < box.origin.size(); ++d) box.origin[d] += stretch.origin[d];
  }
  return boxes;
}

uint64_t OwnedArray::bytes() const {
  uint64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.data.bytes();
  return bytes;
}

uint64_t bytes_in_pages(std::span<const OwnedArray> arrays) {
  uint64_t bytes = 0;
  for (const OwnedArray& array : arrays) bytes += DirectFile::in_pages(array.bytes());
  return bytes;
}

std::vector<OwnedArray> arrays_of(std::span<const TensorBox> boxes) {
  std::vector<OwnedArray> arrays;
  for (const TensorBox& box : boxes) {
    const Stretch all{box.name, box.shape, box.origin, box.data.shape(), 0, box.data.elements()};
    arrays.push_back({box.buffer, box.data.dtype(), {{all, box.data}}});
  }
  return arrays;
}

}  // namespace weft
