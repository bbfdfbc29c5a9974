// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/records/text_blocks.h"

#include <algorithm>

#include "base/error.h"

namespace weft {

namespace {

// The number of lines; the last line may lack a line end.
int64_t count_lines(std::string_view text) {
  return std::count(text.begin(), text.end(), '\n') + (!text.empty() && !text.ends_with('\n') ? 1 : 0);
}

// Moves the first `lines` of the carried text and the input into `text`; returns the number of lines moved.
int64_t take_lines(TextInput& input, std::string& carried, int64_t lines, std::string& text) {
  text.clear();
  int64_t taken = 0;
  do {
    size_t at = 0;
    for (; taken < lines && at < carried.size(); ++taken) {
      const size_t end = carried.find('\n', at);
      if (end == std::string::npos) break;
      at = end + 1;
    }
    text.append(carried, 0, at);
    carried.erase(0, at);
  } while (taken < lines && input.read_some(carried));
  if (taken < lines && !carried.empty()) {  // the last line of the file, without an end
    text += std::exchange(carried, {});
    ++taken;
  }
  return taken;
}

int64_t count_lines_left(TextInput& input, std::string& carried) {
  constexpr int64_t kMany = 10'000;
  int64_t lines = 0;
  std::string text;
  while (const int64_t taken = take_lines(input, carried, kMany, text)) lines += taken;
  return lines;
}

}  // namespace

TextBlocks::TextBlocks(const DataConfig& config, TextFiles files, const RecordRule& rule)
    : files_(std::move(files)),
      paired_(config.format == TextFormat::Parallel),
      skip_lines_(config.skip_lines),
      rule_(rule) {}

bool TextBlocks::next(TextBlock& block) {
  while (source_ || advance()) {
    const bool more = take_block(block.text);
    block.file = source_path_, block.target_file = target_path_;
    block.lines_before = lines_;
    lines_ += std::count(block.text.begin(), block.text.end(), '\n');
    if (paired_) take_partner(block);
    if (!more) finish_files();
    block.consumed = consumed();
    if (!block.text.empty()) return true;
  }
  return false;
}

bool TextBlocks::advance() {
  if (index_ == files_.source.size()) return false;
  const auto open = [this](std::optional<TextInput>& input, const TextFile& file) {
    input.emplace(file);
    std::string_view line;
    for (int64_t i = 0; i < skip_lines_ && input->next_line(line); ++i) continue;
    return std::make_shared<const fs::path>(file.name());
  };
  source_path_ = target_path_ = open(source_, files_.source[index_]);
  if (paired_) target_path_ = open(target_, files_.target[index_]);
  lines_ = source_->line();
  ++index_;
  return true;
}

// Takes the next block of the file; false if it is the last one.
bool TextBlocks::take_block(std::string& text) {
  text = std::exchange(carried_, {});
  for (size_t least = kBlockBytes; source_->read_some(text);) {
    if (text.size() < least) continue;
    if (const size_t whole = rule_.whole_records(text); whole > 0) {
      carried_.assign(text, whole);
      text.resize(whole);
      return true;
    }
    least = 2 * text.size();
  }
  return false;
}

void TextBlocks::take_partner(TextBlock& block) {
  const int64_t lines = count_lines(block.text);
  lines_ = block.lines_before + lines;
  const int64_t taken = take_lines(*target_, target_carried_, lines, block.target);
  if (taken < lines) refuse_unequal(lines_ + count_lines_left(*source_, carried_), block.lines_before + taken);
}

void TextBlocks::finish_files() {
  if (paired_) {
    if (const int64_t more = count_lines_left(*target_, target_carried_)) refuse_unequal(lines_, lines_ + more);
    finished_ += files_.target[index_ - 1].size();
    target_checksums_.push_back(target_->checksum());
    target_.reset();
  }
  finished_ += files_.source[index_ - 1].size();
  source_checksums_.push_back(source_->checksum());
  source_.reset();
}

void TextBlocks::refuse_unequal(int64_t source_lines, int64_t target_lines) const {
  throw DataError(fmt::format("{} has {} lines, but {} has {}: parallel files need as many", source_path_->string(),
                              source_lines, target_path_->string(), target_lines));
}

std::vector<uint64_t> TextBlocks::checksums() const {
  std::vector<uint64_t> all = source_checksums_;
  all.insert(all.end(), target_checksums_.begin(), target_checksums_.end());
  return all;
}

}  // namespace weft
