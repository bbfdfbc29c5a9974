#include "checkpoint/box.h"

#include <algorithm>
#include <cstring>

namespace weft {

int64_t copy_overlap(const std::byte* from, const std::vector<int64_t>& from_origin, const Shape& from_extent,
                     const TensorBox& to) {
  const int rank = to.shape.rank();
  const Shape to_extent = to.data.shape();
  std::vector<int64_t> begin(rank), size(rank);
  int64_t total = 1;
  for (int d = 0; d < rank; ++d) {
    begin[d] = std::max(from_origin[d], to.origin[d]);
    size[d] = std::min(from_origin[d] + from_extent[d], to.origin[d] + to_extent[d]) - begin[d];
    if (size[d] <= 0) return 0;
    total *= size[d];
  }
  const auto width = static_cast<int64_t>(size_of(to.data.dtype()));
  const int64_t run = rank == 0 ? 1 : size[rank - 1];
  for (int64_t row = 0; row < total / run; ++row) {
    int64_t rest = row, at_from = 0, at_to = 0, stride_from = 1, stride_to = 1;
    for (int d = rank - 1; d >= 0; --d) {
      int64_t index = begin[d];
      if (d < rank - 1) index += rest % size[d], rest /= size[d];
      at_from += (index - from_origin[d]) * stride_from;
      at_to += (index - to.origin[d]) * stride_to;
      stride_from *= from_extent[d];
      stride_to *= to_extent[d];
    }
    std::memcpy(to.data.raw() + at_to * width, from + at_from * width, static_cast<size_t>(run * width));
  }
  return total;
}

}  // namespace weft
