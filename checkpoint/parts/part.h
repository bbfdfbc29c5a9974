// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "base/direct_file.h"
#include "checkpoint/manifest.h"

namespace weft {

// The index entries of arrays that a rank owns, before they are stored.
std::vector<StoredArray> stored_arrays(std::span<const OwnedArray> owned);

// The file in which one process keeps its arrays of a checkpoint. HDF5 lays it out: /master/0, /moment1/0, ..., and
// /index at its end, which lists their content (checkpoint/parts/part_index.h). The bytes bypass HDF5, which has one
// lock for the whole process.
class CheckpointPart {
 public:
  // Creates the file and sets the arrays' offsets; write() sets their hashes. `between` is called after each piece of
  // at most kPiece bytes is written; an exception that it throws ends the work.
  CheckpointPart(const fs::path& path, std::vector<StoredArray> arrays, std::function<void()> between = {});
  static constexpr uint64_t kPiece = uint64_t{8} << 20;

  // Writes a whole array. Arrays are written in their order, by direct I/O if the file system allows it. If not, each
  // piece is flushed while the next is written, so that the final sync is short and dirty pages do not fill the memory.
  void write(size_t array, std::span<const std::byte> bytes);
  CheckpointFile finish();  // writes the index and syncs, after every array is written
  // Of the arrays written so far (checkpoint/digest/state_digest.h).
  uint64_t digest() const { return digest_; }

 private:
  static constexpr uint64_t kWrittenBack = uint64_t{64} << 20;
  void write_piece(uint64_t offset, std::span<const std::byte> piece);
  void write_back();

  PartIndex index_;
  uint64_t index_offset_ = 0;  // bytes from the beginning of the file
  File file_;
  DirectFile direct_;
  std::function<void()> between_;
  uint64_t digest_ = 0;
  ByteRange gathered_, on_its_way_;  // bytes in the page cache, and bytes being flushed
};

}  // namespace weft
