// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/tensor.h"

// Where other programs store a parameter of weft's: in one tensor or in several, as it is or with its rows in another
// order.
namespace weft {

// Of each of `groups` groups of `blocks` blocks of `height` rows, the `count` blocks from `first` on. The keys of
// (kv_heads, queries + 2, head_dim, width) are one block of each group.
struct RowBlocks {
  int64_t groups = 1, blocks = 1, first = 0, count = 1, height = 1;
};

struct StoredPlace {
  std::string name;
  Shape shape;                  // as it is stored
  int64_t columns = 1;          // elements of one of the parameter's rows
  std::vector<RowBlocks> rows;  // which rows it has, one after another; none: all elements as they are
  bool transposed = false;      // stored as [columns, rows]

  static StoredPlace same(std::string name, const Shape& shape) { return {.name = std::move(name), .shape = shape}; }
  // Rows of the parameter of this shape, whose last dim are the columns unless it is a bias ("NAME.bias").
  static StoredPlace of(std::string name, const Shape& parameter, std::vector<RowBlocks> rows, bool transposed = false);
  // The same rows, stored as [rows, columns].
  StoredPlace upright() const;
};

// Copy the elements that a place has, from a parameter and to it.
void to_stored(const StoredPlace& place, std::span<const float> ours, std::span<float> theirs);
void from_stored(const StoredPlace& place, std::span<const float> theirs, std::span<float> ours);

}  // namespace weft
