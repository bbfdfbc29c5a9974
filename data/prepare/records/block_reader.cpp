// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/records/block_reader.h"

#include "base/error.h"

namespace weft {

BlockReader::BlockReader(const DataConfig& config, TextFiles files, BadRecords& bad, int threads,
                         std::unique_ptr<const RecordRule> rule)
    : rule_(std::move(rule)),
      skip_bad_(config.bad_records == BadRecordPolicy::Skip),
      most_record_bytes_(config.max_record_bytes),
      blocks_(config, std::move(files), *rule_),
      bad_(bad),
      workers_(threads, [this](const TextBlock& block) { return parse(block); }) {}

bool BlockReader::next(TextRecord& record) {
  while (at_ == records_.size()) {
    if (!next_block()) return false;
  }
  record = std::move(records_[at_++]);
  return true;
}

bool BlockReader::next_block() {
  for (TextBlock block; workers_.pending() < workers_.window() && blocks_.next(block);) {
    workers_.submit(std::exchange(block, {}));
  }
  if (workers_.pending() == 0) {
    consumed_ = blocks_.consumed();
    return false;
  }
  ParsedBlock parsed = workers_.take();
  bad_.add(parsed.bad.skipped());
  records_ = std::move(parsed.records), at_ = 0;
  consumed_ = parsed.consumed;
  return true;
}

ParsedBlock BlockReader::parse(const TextBlock& block) const {
  ParsedBlock parsed{.records = {}, .bad = BadRecords(skip_bad_), .consumed = block.consumed};
  TextLines text(block.text, block.lines_before), partner(block.target, block.lines_before);
  const auto next = [&](TextRecord& record) {
    try {
      return rule_->read(text, partner, record);
    } catch (const BadRecordError& error) {
      throw placed(error, fmt::format("{}:{}", block.file->string(), text.line()));
    }
  };
  while (true) {
    TextRecord record{.file = block.file, .target_file = block.target_file};
    try {
      if (!next(record)) return parsed;
      if (std::ssize(record.source) + std::ssize(record.target) > most_record_bytes_) {
        throw too_long(*record.file, record.line, most_record_bytes_);
      }
      refuse_nul(record);
      parsed.records.push_back(std::move(record));
    } catch (const BadRecordError& error) {
      parsed.bad.meet(error);
    }
  }
}

}  // namespace weft
