// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/parts/box.h"

#include <algorithm>
#include <cstring>

namespace weft {

namespace {

// `at` is the index in the dims before `dim`; begin and end count elements of the subtensor there.
void cut_below(const Shape& shape, int dim, std::vector<int64_t>& at, int64_t begin, int64_t end,
               std::vector<Box>& boxes) {
  if (begin >= end) return;
  const int rank = shape.rank();
  int64_t inner = 1;  // elements per index of `dim`
  for (int d = dim + 1; d < rank; ++d) inner *= shape[d];
  const auto emit = [&](int64_t first, int64_t last) {
    if (first >= last) return;
    Box box{at, shape};
    box.origin.resize(static_cast<size_t>(rank), 0);
    for (int d = 0; d < dim; ++d) box.extent[d] = 1;
    box.origin[dim] = first, box.extent[dim] = last - first;
    boxes.push_back(std::move(box));
  };
  const auto below = [&](int64_t index, int64_t from, int64_t to) {
    at.push_back(index);
    cut_below(shape, dim + 1, at, from, to, boxes);
    at.pop_back();
  };
  const int64_t first = begin / inner, last = end / inner;
  if (begin % inner == 0) {
    emit(first, last);
  } else if (first == last) {
    return below(first, begin % inner, end % inner);
  } else {
    below(first, begin % inner, inner);
    emit(first + 1, last);
  }
  if (end % inner != 0) below(last, 0, end % inner);
}

}  // namespace

std::vector<Box> cut_flat(const Shape& shape, int64_t begin, int64_t end) {
  std::vector<Box> boxes;
  std::vector<int64_t> at;
  if (shape.rank() == 0) {
    if (begin < end) boxes.push_back({{}, shape});
    return boxes;
  }
  cut_below(shape, 0, at, begin, end, boxes);
  return boxes;
}

std::vector<ElementRun> runs_of(const Shape& shape, const Box& box) {
  int inner = shape.rank();  // a run covers the dims from this one on
  ElementRun run{.index = 0, .elements = 1};
  for (bool whole = true; inner > 0 && whole; whole = box.extent[inner] == shape[inner]) {
    run.elements *= box.extent[--inner];
  }
  std::vector<ElementRun> runs;
  const int64_t count = run.elements == 0 ? 0 : box.extent.elements() / run.elements;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, stride = 1;
    run.index = 0;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      int64_t at = box.origin[static_cast<size_t>(d)];
      if (d < inner) at += rest % box.extent[d], rest /= box.extent[d];
      run.index += at * stride;
      stride *= shape[d];
    }
    runs.push_back(run);
  }
  return runs;
}

bool overlaps(const std::vector<int64_t>& origin, const Shape& extent, const TensorBox& box) {
  const Shape other = box.data.shape();
  for (int d = 0; d < extent.rank(); ++d) {
    if (std::min(origin[d] + extent[d], box.origin[d] + other[d]) <= std::max(origin[d], box.origin[d])) return false;
  }
  return true;
}

int64_t copy_overlap(const std::byte* from, const std::vector<int64_t>& from_origin, const Shape& from_extent,
                     const TensorBox& box, std::byte* to) {
  const int rank = box.shape.rank();
  const Shape to_extent = box.data.shape();
  std::vector<int64_t> begin(rank), size(rank);
  int64_t total = 1;
  for (int d = 0; d < rank; ++d) {
    begin[d] = std::max(from_origin[d], box.origin[d]);
    size[d] = std::min(from_origin[d] + from_extent[d], box.origin[d] + to_extent[d]) - begin[d];
    if (size[d] <= 0) return 0;
    total *= size[d];
  }
  const auto width = static_cast<int64_t>(size_of(box.data.dtype()));
  const int64_t run = rank == 0 ? 1 : size[rank - 1];
  for (int64_t row = 0; row < total / run; ++row) {
    int64_t rest = row, at_from = 0, at_to = 0, stride_from = 1, stride_to = 1;
    for (int d = rank - 1; d >= 0; --d) {
      int64_t index = begin[d];
      if (d < rank - 1) index += rest % size[d], rest /= size[d];
      at_from += (index - from_origin[d]) * stride_from;
      at_to += (index - box.origin[d]) * stride_to;
      stride_from *= from_extent[d];
      stride_to *= to_extent[d];
    }
    std::memcpy(to + at_to * width, from + at_from * width, static_cast<size_t>(run * width));
  }
  return total;
}

}  // namespace weft
