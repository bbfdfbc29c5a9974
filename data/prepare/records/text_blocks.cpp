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

// A block takes no more lines of a target that has this many bytes: beside short lines of the source, long ones could
// fill any memory.
constexpr size_t kEnoughOfTarget = 8 * kBlockBytes;

// The rest of a file: text that was read and not used, and what follows it.
struct Rest {
  TextInput& input;
  std::string& carried;
  int64_t lines_before;
  int64_t most_line_bytes;
};

// Moves the first `lines` of the rest into `text`, or fewer if it has kEnoughOfTarget then; returns the number of lines
// moved.
int64_t take_lines(const Rest& rest, int64_t lines, std::string& text) {
  std::string& carried = rest.carried;
  text.clear();
  int64_t taken = 0;
  do {
    size_t at = 0;
    for (; taken < lines && at < carried.size(); ++taken) {
      const size_t end = carried.find('\n', at);
      if (text.size() + at >= kEnoughOfTarget || end == std::string::npos) break;
      at = end + 1;
    }
    text.append(carried, 0, at);
    carried.erase(0, at);
    if (taken == lines || text.size() >= kEnoughOfTarget) return taken;
    if (std::ssize(carried) > rest.most_line_bytes) {
      throw too_long(rest.input.path(), rest.lines_before + taken + 1, rest.most_line_bytes);
    }
  } while (rest.input.read_some(carried));
  if (carried.empty()) return taken;
  text += std::exchange(carried, {});  // the last line of the file, without an end
  return taken + 1;
}

// The number of lines that the whole file has.
int64_t count_all_lines(Rest rest) {
  constexpr int64_t kMany = 10'000;
  std::string text;
  while (const int64_t taken = take_lines(rest, kMany, text)) rest.lines_before += taken;
  return rest.lines_before;
}

}  // namespace

TextBlocks::TextBlocks(const DataConfig& config, TextFiles files, const RecordRule& rule)
    : files_(std::move(files)),
      paired_(config.format == TextFormat::Parallel),
      skip_lines_(config.skip_lines),
      most_record_bytes_(config.max_record_bytes),
      rule_(rule) {}

bool TextBlocks::next(TextBlock& block) {
  while (source_ || advance()) {
    bool more = take_block(block.text);
    block.file = source_path_, block.target_file = target_path_;
    block.lines_before = lines_;
    lines_ += std::count(block.text.begin(), block.text.end(), '\n');
    if (paired_ && !take_partner(block)) more = true;
    if (!more) finish_files();
    block.consumed = consumed();
    if (!block.text.empty()) return true;
  }
  return false;
}

bool TextBlocks::advance() {
  if (index_ == files_.source.size()) return false;
  const auto open = [this](std::optional<TextInput>& input, const TextFile& file) {
    input.emplace(file, most_record_bytes_);
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
  const auto most = static_cast<size_t>(most_record_bytes_);
  size_t least = std::min(kBlockBytes, most + 1);
  do {
    if (text.size() < least) continue;
    if (const size_t whole = rule_.whole_records(text); whole > 0) {
      carried_.assign(text, whole);
      text.resize(whole);
      return true;
    }
    if (text.size() > most) throw too_long(*source_path_, lines_ + 1, most_record_bytes_);
    least = std::min(2 * text.size(), most + 1);
  } while (source_->read_some(text));
  return false;
}

// Takes the lines that belong to the block's. False if the block keeps only the first of its lines, since those of the
// target are so long; the others are carried.
bool TextBlocks::take_partner(TextBlock& block) {
  const int64_t lines = count_lines(block.text);
  lines_ = block.lines_before + lines;
  const int64_t taken =
      take_lines({*target_, target_carried_, block.lines_before, most_record_bytes_}, lines, block.target);
  if (taken == lines) return true;
  if (block.target.size() < kEnoughOfTarget) {
    refuse_unequal(count_all_lines({*source_, carried_, lines_, most_record_bytes_}), block.lines_before + taken);
  }
  size_t kept = 0;
  for (int64_t i = 0; i < taken; ++i) kept = block.text.find('\n', kept) + 1;
  carried_.insert(0, block.text, kept);
  block.text.resize(kept);
  lines_ = block.lines_before + taken;
  return false;
}

void TextBlocks::finish_files() {
  if (paired_) {
    const int64_t target_lines = count_all_lines({*target_, target_carried_, lines_, most_record_bytes_});
    if (target_lines > lines_) refuse_unequal(lines_, target_lines);
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
