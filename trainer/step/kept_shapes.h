// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "data/batches/batch.h"

namespace weft {

// Decides which shapes of steps have a graph, from the shapes of all steps so far: every rank decides the same.
//   - A shape's first step is no graph, its second is.
//   - At most `most` shapes are kept. Another takes the place of the one that has occurred least, once it has occurred
//     twice as often: with many shapes, those that come most are kept and not captured again and again.
//   - Graphs share memory, and none of it returns before the last of them is gone, so that the memory of small steps
//     would stay beside that of larger ones. A bucket that is larger than all so far therefore drops all shapes, which
//     are captured again when they come.
class KeptShapes {
 public:
  explicit KeptShapes(size_t most) : most_(most) {}
  // Notes a step and returns whether its shape is kept from now on. `bucket` is 0 without padding.
  bool take(uint64_t shape, const BatchShape& bucket);
  bool contains(uint64_t shape) const { return kept_.contains(shape); }
  bool empty() const { return kept_.empty(); }
  // Keeps none of the shapes from now on; one that comes again is kept at once.
  void drop() { kept_.clear(); }

 private:
  bool make_room(uint64_t shape);

  size_t most_;
  std::map<uint64_t, int64_t> seen_;  // how many steps of each shape there have been
  std::set<uint64_t> kept_;
  BatchShape largest_;  // contains the buckets of all shapes that are kept
};

}  // namespace weft
