#pragma once
#include <span>
#include <vector>

#include "checkpoint/manifest.h"

namespace weft {

// The file in which one process keeps its slices of a checkpoint. HDF5 lays it out: /buffer/tensor/slice, with the
// slice's place in the tensor as attributes. The payload goes past HDF5, which has one lock for the whole process.
class CheckpointPart {
 public:
  // Creates the file. Of the slices, offset and hash are found out here.
  CheckpointPart(const fs::path& path, std::vector<CheckpointSlice> slices);

  void write(size_t slice, std::span<const std::byte> bytes);  // all of its elements
  CheckpointFile finish();                                     // syncs; once every slice is written

 private:
  CheckpointFile stored_;
  File file_;
};

}  // namespace weft
