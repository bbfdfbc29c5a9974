#pragma once
#include <functional>
#include <span>
#include <vector>

#include "checkpoint/manifest.h"

namespace weft {

// The file in which one process keeps its slices of a checkpoint. HDF5 lays it out: /buffer/tensor/slice, with the
// slice's place in the tensor as attributes. The payload goes past HDF5, which has one lock for the whole process.
class CheckpointPart {
 public:
  // Creates the file. Of the slices, offset and hash are found out here. `between` is called after every piece of at
  // most kPiece that was written; what it throws ends the work.
  CheckpointPart(const fs::path& path, std::vector<CheckpointSlice> slices, std::function<void()> between = {});
  static constexpr uint64_t kPiece = uint64_t{64} << 20;

  // All of its elements. Slices are written in the order in which they lie in the file, each piece behind the one
  // before it on its way to the disk: neither does a sync at the end take long, nor do written pages fill the memory.
  void write(size_t slice, std::span<const std::byte> bytes);
  CheckpointFile finish();  // syncs; once every slice is written

 private:
  struct Stretch {
    uint64_t begin = 0, end = 0;
    uint64_t size() const { return end - begin; }
  };
  void written(uint64_t begin, uint64_t end);
  void write_back();

  CheckpointFile stored_;
  File file_;
  std::function<void()> between_;
  Stretch gathered_, on_its_way_;  // bytes in the system's memory, and those that the disk is being given
};

}  // namespace weft
