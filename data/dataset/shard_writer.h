// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hdf5.h"
#include "data/dataset/shard.h"

namespace weft {

// Token ids as a shard stores them, 2 or 4 bytes each.
class TokenBuffer {
 public:
  explicit TokenBuffer(int token_bytes) : token_bytes_(token_bytes) {}
  void append(std::span<const int32_t> ids);
  void reserve(int64_t count);
  int64_t count() const { return static_cast<int64_t>(bytes_.size()) / token_bytes_; }
  const std::vector<char>& bytes() const { return bytes_; }

  template <class Archive>
  void archive(Archive& a) {
    a(bytes_);
  }

 private:
  int token_bytes_;
  std::vector<char> bytes_;
};

// The content of a shard.
struct ShardArrays {
  explicit ShardArrays(int token_bytes) : source(token_bytes), target(token_bytes) {}
  bool empty() const { return source.count() == 0 && source_index.empty(); }

  TokenBuffer source, target;
  std::vector<uint64_t> source_index;  // stream: where documents begin; pairs: where sequences begin, and the end
  std::vector<uint64_t> target_index;
  std::vector<char> references;  // texts, one after another
  std::vector<uint64_t> reference_index;

  template <class Archive>
  void archive(Archive& a) {
    a(source), a(target), a(source_index), a(target_index), a(references), a(reference_index);
  }
};

// An array of a shard, and its place in the file.
struct PlacedArray {
  std::string path;
  Hdf5Type type;
  std::span<const char> bytes;
  bool tokens;
  uint64_t offset = 0;
};

// A shard whose file has its structure and its final size already, but not the content of its arrays.
class FullShard {
 public:
  // Creates the file, and completes the entry with counts, offsets, size and checksums.
  FullShard(const fs::path& path, const ShardIdentity& identity, ShardArrays arrays, ShardEntry& entry);
  FullShard(FullShard&&) = default;
  FullShard& operator=(FullShard&&) = default;
  FullShard(const FullShard&) = delete;

  // Writes the arrays and syncs the file. May be called on any thread.
  void write() const;

 private:
  void make_file(const ShardIdentity& identity, const ShardEntry& entry);
  void place(ShardTokens& tokens, std::string_view array, std::string_view index) const;
  uint64_t checksum(const File& file, bool with_tokens) const;

  fs::path path_;
  ShardArrays arrays_;
  std::vector<PlacedArray> placed_;  // spans of arrays_, in the order of the file
};

// Cuts one split into DIRECTORY/SPLIT-00000.h5.tmp and so on. The caller renames the files when all are written; the
// destructor removes them unless release() was called.
class SplitWriter {
 public:
  SplitWriter(fs::path directory, ShardIdentity identity, int64_t shard_tokens);
  ~SplitWriter();
  SplitWriter(const SplitWriter&) = delete;
  SplitWriter& operator=(const SplitWriter&) = delete;

  void add_document(std::span<const int32_t> ids);  // continues in the next shard when one is full
  void continue_document(std::span<const int32_t> ids);
  // `reference`: the target's text, stored if the identity has references.
  void add_pair(std::span<const int32_t> source, std::span<const int32_t> target, std::string_view reference = {});
  // The shards that became full since the last call. The caller must write them before it relies on them.
  std::vector<FullShard> take_full() { return std::exchange(full_, {}); }
  // Writes the full shards that were not taken, and the pending shard. Entries name the files without .tmp.
  std::vector<ShardEntry> finish();
  void release() { keep_ = true; }

  // The entries of the shards that became full so far.
  const std::vector<ShardEntry>& entries() const { return entries_; }
  // The state from which another writer of the split continues (base/archive.h), without the files of entries().
  // DataError if a file of the state has another name than this writer gives: this writer would rename or remove a
  // stranger's.
  template <class Archive>
  void archive(Archive& a) {
    a(pending_);
    std::vector<ShardEntry> entries = entries_;
    a(entries);
    check_names(entries);
    entries_ = std::move(entries);
  }

 private:
  void close_shard();
  std::string file_name(size_t shard) const;
  void check_names(const std::vector<ShardEntry>& entries) const;
  fs::path temporary(const ShardEntry& entry) const { return directory_ / (entry.file + ".tmp"); }

  fs::path directory_;
  ShardIdentity identity_;
  int64_t shard_tokens_;
  ShardArrays pending_;
  std::vector<FullShard> full_;
  std::vector<ShardEntry> entries_;
  bool keep_ = false;
};

}  // namespace weft
