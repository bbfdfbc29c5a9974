// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/prepare/records/record_rule.h"
#include "data/prepare/records/text_files.h"
#include "data/text/text_input.h"

namespace weft {

inline constexpr size_t kBlockBytes = size_t{1} << 20;

// A piece of a file that begins and ends where records do, so that it can be parsed without its neighbours.
struct TextBlock {
  std::shared_ptr<const fs::path> file;
  std::shared_ptr<const fs::path> target_file;  // format parallel; equal to `file` for other formats
  std::string text;
  std::string target;        // format parallel: as many lines as the text has
  int64_t lines_before = 0;  // before the block in the file, and in its partner
  uint64_t consumed = 0;     // bytes on disk of all files up to the end of the block
};

// Cuts files into blocks of about a mebibyte, or of one record if that is longer; the rule finds the borders. Only
// this work is sequential: reading, decompressing, and finding the last border in the text that was read. Errors name
// the file.
class TextBlocks {
 public:
  // `rule` must outlive this object.
  TextBlocks(const DataConfig& config, TextFiles files, const RecordRule& rule);

  // False at the end. DataError if parallel files differ in their number of lines, with both numbers.
  bool next(TextBlock& block);
  uint64_t consumed() const {
    return finished_ + (source_ ? source_->consumed() : 0) + (target_ ? target_->consumed() : 0);
  }
  // hash64 of the files that were read to their end, as they lie on disk, all files of the source first.
  std::vector<uint64_t> checksums() const;

 private:
  bool advance();
  bool take_block(std::string& text);
  bool take_partner(TextBlock& block);
  void finish_files();
  [[noreturn]] void refuse_unequal(int64_t source_lines, int64_t target_lines) const;

  TextFiles files_;
  bool paired_;
  int64_t skip_lines_;
  int64_t most_record_bytes_;
  const RecordRule& rule_;
  size_t index_ = 0;
  std::optional<TextInput> source_, target_;
  std::shared_ptr<const fs::path> source_path_, target_path_;
  std::string carried_, target_carried_;  // text that was read for the next block
  int64_t lines_ = 0;                     // lines of the current file in the blocks so far
  uint64_t finished_ = 0;
  std::vector<uint64_t> source_checksums_, target_checksums_;
};

}  // namespace weft
