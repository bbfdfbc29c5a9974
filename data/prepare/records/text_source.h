// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "data/prepare/records/block_parser.h"
#include "data/prepare/records/text_blocks.h"
#include "data/prepare/workers.h"

namespace weft {

// DataError if a name matches nothing, ConfigError if the two sides differ in number.
TextFiles resolve_files(const SplitFiles& files, TextFormat format);

// The records of some files, one after another: one thread reads and decompresses them and cuts them into blocks, and
// several parse these. Order and places do not depend on their number. Bad records are handed to `bad`, before the
// records that stand behind them.
class TextSource {
 public:
  TextSource(const DataConfig& config, TextFiles files, BadRecords& bad, int threads);
  bool next(TextRecord& record);
  uint64_t consumed() const { return consumed_; }  // bytes on disk so far
  // hash64 of each file as it lies on disk, first all of the source: at the end.
  std::vector<uint64_t> checksums() const { return blocks_.checksums(); }

 private:
  bool next_block();

  BlockParser parser_;
  TextBlocks blocks_;
  BadRecords& bad_;
  OrderedWorkers<TextBlock, ParsedBlock> workers_;
  std::vector<TextRecord> records_;  // of the current block
  size_t at_ = 0;
  uint64_t consumed_ = 0;
};

// Bytes of all files on disk.
uint64_t total_bytes(const TextFiles& files);

}  // namespace weft
