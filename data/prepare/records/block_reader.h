// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "data/prepare/records/record_rule.h"
#include "data/prepare/records/text_blocks.h"
#include "data/prepare/workers.h"

namespace weft {

struct ParsedBlock {
  std::vector<TextRecord> records;
  BadRecords bad;
  uint64_t consumed = 0;  // as in TextBlock
};

// Reads formats whose files can be cut where records end: one thread reads, decompresses and cuts them into blocks, and
// several threads parse the blocks.
class BlockReader : public RecordReader {
 public:
  BlockReader(const DataConfig& config, TextFiles files, BadRecords& bad, int threads,
              std::unique_ptr<const RecordRule> rule);
  bool next(TextRecord& record) override;
  uint64_t consumed() const override { return consumed_; }
  std::vector<uint64_t> checksums() const override { return blocks_.checksums(); }

 private:
  bool next_block();
  // BadRecordError, with file and line, unless bad records are skipped.
  ParsedBlock parse(const TextBlock& block) const;

  const std::unique_ptr<const RecordRule> rule_;
  const bool skip_bad_;
  const int64_t most_record_bytes_;
  TextBlocks blocks_;
  BadRecords& bad_;
  OrderedWorkers<TextBlock, ParsedBlock> workers_;
  std::vector<TextRecord> records_;  // records of the current block
  size_t at_ = 0;
  uint64_t consumed_ = 0;
};

}  // namespace weft
