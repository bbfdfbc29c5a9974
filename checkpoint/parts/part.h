// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "base/direct_file.h"
#include "checkpoint/manifest.h"

namespace weft {

// What is to be stored of arrays that a rank owns.
std::vector<StoredArray> stored_arrays(std::span<const OwnedArray> owned);

// The file in which one process keeps its arrays of a checkpoint. HDF5 lays it out: /master/0, /moment1/0, ..., and at
// its end /index, which says what lies in them (checkpoint/parts/part_index.h). The bytes go past HDF5, which has one
// lock for the whole process.
class CheckpointPart {
 public:
  // Creates the file. Of the arrays, offsets and hashes are found out here. `between` is called after every piece of at
  // most kPiece that was written; what it throws ends the work.
  CheckpointPart(const fs::path& path, std::vector<StoredArray> arrays, std::function<void()> between = {});
  static constexpr uint64_t kPiece = uint64_t{8} << 20;

  // All of an array. Arrays are written in their order, past the system's memory where that can be; elsewhere each
  // piece behind the one before it on its way to the disk: neither does a sync at the end take long, nor do written
  // pages fill the memory.
  void write(size_t array, std::span<const std::byte> bytes);
  CheckpointFile finish();  // writes the index and syncs; once every array is written

 private:
  static constexpr uint64_t kWrittenBack = uint64_t{64} << 20;
  void write_piece(uint64_t offset, std::span<const std::byte> piece);
  void write_back();

  PartIndex index_;
  uint64_t index_offset_ = 0;  // in the file
  File file_;
  DirectFile direct_;
  std::function<void()> between_;
  ByteRange gathered_, on_its_way_;  // bytes in the system's memory, and those that the disk is being given
};

}  // namespace weft
