// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "base/archive.h"
#include "data/dataset/shard_writer.h"
#include "data/prepare/encoding/encode.h"
#include "data/prepare/tokenizers.h"

namespace weft {

// Writes encoded text into shards and counts it. Files are named .tmp, and removed unless they are released.
class DatasetWriter {
 public:
  // `manifest` states kind, width of tokens and sides.
  DatasetWriter(const DataConfig& data, const Manifest& manifest, const fs::path& directory);

  void take(const EncodedBatch& batch);  // batches in the order of the text
  // The shards of all splits that became full since the last call, for the caller to write. The archive counts
  // them as written.
  std::vector<FullShard> take_full();
  const BadRecords& bad() const { return bad_; }
  int64_t good() const;  // records that were not bad, kept or dropped

  // Writes the rest of a split. DataError if the split has no record, or too many unknown tokens.
  SplitEntry finish(DataSplit split, const Tokenizers& tokenizers);
  void release();

  // The state after all batches that were taken (base/archive.h): a writer that reads the state continues from there.
  // The state holds no files.
  template <class Archive>
  void archive(Archive& a) {
    a(entries_);
    for (TokenStats& stats : source_stats_) a(stats);
    for (TokenStats& stats : target_stats_) a(stats);
    for (auto& writer : writers_) a(*writer);
    a(bad_), a(document_is_invalid_);
  }
  // Calls `look` with each shard that was full.
  void for_each_shard(const std::function<void(const ShardEntry&)>& look) const;

 private:
  void check_unknown(DataSplit split, const SideCounts& counts, const char* side) const;

  const DataConfig& data_;
  int source_begins_ = 0, source_ends_ = 0;  // specials that preparation puts before and after a source or document
  int target_specials_ = 0;                  // and around a target
  BySplit<std::unique_ptr<SplitWriter>> writers_;
  BySplit<SplitEntry> entries_;
  std::vector<TokenStats> source_stats_, target_stats_;
  BadRecords bad_{true};              // the records that were left out
  bool document_is_invalid_ = false;  // a piece of the current document is not valid UTF-8
};

}  // namespace weft
