// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "data/dataset/checked_array.h"
#include "data/dataset/manifest.h"

namespace weft {

// The properties that every shard of a split states about itself.
struct ShardIdentity {
  int version = kDatasetVersion;
  DatasetKind kind = DatasetKind::Stream;
  DataSplit split = DataSplit::Train;
  int token_bytes = 2;
  bool references = false;  // pairs: the shard stores the text of each target
  DatasetSide source;
  DatasetSide target;
};
ShardIdentity identity_of(const Manifest& manifest, DataSplit split);

// One shard, read with pread: a shrinking file, a failing disk or a file server that disappears during a read is
// a DataError; a mapping would end the process with SIGBUS. Construction checks the size and the structure checksum,
// and before kFirstPlacedVersion that HDF5 and the manifest agree; reading checks the blocks that it touches.
class Shard {
 public:
  Shard(const fs::path& path, const ShardEntry& entry, const ShardIdentity& identity);

  const ShardEntry& entry() const { return entry_; }
  void read_source(int64_t first, std::span<int32_t> into) const;
  void read_target(int64_t first, std::span<int32_t> into) const;
  int64_t document_begin(int64_t i) const;  // the document's first token, counted in this shard
  struct TokenRange {
    int64_t begin;
    int64_t end;
  };
  TokenRange source_range(int64_t pair) const { return range(entry_.source, pair); }
  TokenRange target_range(int64_t pair) const { return range(entry_.target, pair); }
  std::string read_reference(int64_t pair) const;  // only if the split holds references
  // Appends the lengths of all sequences, in one pass over each index.
  void append_lengths(std::vector<int32_t>& source, std::vector<int32_t>& target) const;

 private:
  void read(const CheckedArray& tokens, int64_t vocabulary, int64_t first, std::span<int32_t> into) const;
  TokenRange range(const ShardTokens& tokens, int64_t pair) const;
  TokenRange checked_range(uint64_t begin, uint64_t end, const ShardTokens& tokens, int64_t pair) const;
  void append_lengths_of(const ShardTokens& tokens, std::vector<int32_t>& lengths) const;

  fs::path path_;
  ShardEntry entry_;
  int token_bytes_;
  int64_t source_vocabulary_, target_vocabulary_;
  File file_;
  CheckedArray source_, target_, references_;
};

// hash64 of the file without its token arrays: all that HDF5 parses, the indices, and the references, whose bytes no
// vocabulary checks.
uint64_t structure_checksum(const File& file, const ShardEntry& entry, int token_bytes);
// hash64 of the whole file.
uint64_t file_checksum(const File& file);

}  // namespace weft
