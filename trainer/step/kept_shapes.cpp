// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/kept_shapes.h"

#include <algorithm>
#include <utility>

#include "data/batches/padded_shape.h"

namespace weft {

bool KeptShapes::take(uint64_t shape, const BatchShape& bucket) {
  const int64_t times = ++seen_[shape];
  if (kept_.contains(shape)) return true;
  if (times < 2 || !make_room(shape)) return false;
  const BatchShape larger = greater_of(largest_, bucket);
  if (std::exchange(largest_, larger) != larger) kept_.clear();
  kept_.insert(shape);
  return true;
}

// Whether the shape may be kept.
bool KeptShapes::make_room(uint64_t shape) {
  if (kept_.size() < most_) return true;
  const auto rarest = std::ranges::min_element(kept_, {}, [&](uint64_t kept) { return seen_.at(kept); });
  if (seen_.at(shape) < 2 * seen_.at(*rarest)) return false;
  kept_.erase(rarest);
  return true;
}

}  // namespace weft
