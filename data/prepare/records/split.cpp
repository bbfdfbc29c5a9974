// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/records/split.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/philox.h"

namespace weft {

namespace {

constexpr uint32_t kSplitStream = 0x53504C54;  // keeps these draws apart from others of the same seed
constexpr int64_t kTickRecords = 1024;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool by_position(const DataConfig& config) {
  return config.split == SplitRule::Records || config.split == SplitRule::Characters;
}

bool holds_out(const DataConfig& config) { return config.valid_fraction > 0 || config.test_fraction > 0; }

}  // namespace

DataSplit hashed_split(int64_t seed, int64_t index, double valid_fraction, double test_fraction) {
  const auto bits = Philox(static_cast<uint64_t>(seed))(
      {static_cast<uint32_t>(index), static_cast<uint32_t>(static_cast<uint64_t>(index) >> 32), kSplitStream, 0});
  const double draw = uniform_open(bits[0]);
  if (draw < test_fraction) return DataSplit::Test;
  if (draw < test_fraction + valid_fraction) return DataSplit::Valid;
  return DataSplit::Train;
}

std::pair<int64_t, int64_t> position_cuts(int64_t total, double valid_fraction, double test_fraction) {
  const auto cut = [&](double held_out) {
    return std::clamp(static_cast<int64_t>(std::floor(static_cast<double>(total) * (1 - held_out))), int64_t{0}, total);
  };
  return {cut(valid_fraction + test_fraction), cut(test_fraction)};
}

int64_t count_characters(std::string_view text) {
  return static_cast<int64_t>(text.size()) - std::count_if(text.begin(), text.end(), continues);
}

size_t byte_of_character(std::string_view text, int64_t n) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (!continues(text[i]) && n-- == 0) return i;
  }
  return text.size();
}

BySplit<TextFiles> files_of_splits(const DataConfig& config) {
  return {resolve_files(config.train, config.format), resolve_files(config.valid, config.format),
          resolve_files(config.test, config.format)};
}

Corpus::Corpus(const DataConfig& config, BySplit<TextFiles> files, int threads)
    : config_(config), threads_(threads), files_(std::move(files)), bad_(config.bad_records == BadRecordPolicy::Skip) {
  const bool two_sided = config_.format == TextFormat::Parallel;
  for (const DataSplit split : kSplits) {
    TextFiles& files = files_[static_cast<size_t>(split)];
    for (auto* side : {&files.source, &files.target}) {
      const char* key = !two_sided ? "files" : side == &files.source ? "source" : "target";
      for (TextFile& file : *side) {
        if (file.is_pipe()) file.copy_pipe(config_.directory);
        inputs_.push_back({fmt::format("data.{}.{}", enum_name(split), key), file});
        total_bytes_ += file.size();
      }
    }
  }
  rewind();
}

bool Corpus::has(DataSplit split) const {
  if (config_.split == SplitRule::Files) return !files_[static_cast<size_t>(split)].source.empty();
  if (split == DataSplit::Train) return true;
  return (split == DataSplit::Valid ? config_.valid_fraction : config_.test_fraction) > 0;
}

bool Corpus::needs_size() const { return by_position(config_) && holds_out(config_) && !measured_; }

bool Corpus::holds_several() {
  for (const TextFiles& files : files_) {
    const auto source = open_records(config_, files, bad_, 1);
    TextRecord record;
    if (source->next(record) && source->next(record)) return true;
  }
  return false;
}

void Corpus::check_beginnings() {
  if (config_.bad_records == BadRecordPolicy::Skip || config_.keeps_files_whole()) return;
  for (const TextFiles& files : files_) {
    TextRecord record;
    open_records(config_, files, bad_, 1)->next(record);
  }
}

bool Corpus::needs_comparison() const { return config_.duplicates != DuplicatePolicy::Keep && !duplicates_; }

Duplicates::Counts Corpus::duplicates(DataSplit split) const {
  return duplicates_ ? duplicates_->counts(split) : Duplicates::Counts{};
}

void Corpus::walk(const std::function<void(const Corpus&)>& tick, const std::function<bool()>& step) {
  rewind();
  while (step()) {
    if (records_ % kTickRecords == 0) tick(*this);
  }
  rewind();
}

void Corpus::measure(const std::function<void(const Corpus&)>& tick) {
  CorpusSize size;
  DataSplit split;
  TextRecord record;
  walk(tick, [&] {
    if (!next_undivided(split, record)) return false;
    ++size.records;
    if (config_.split == SplitRule::Characters) size.characters += count_characters(record.source);
    return true;
  });
  size_ = size, measured_ = true;
}

void Corpus::find_duplicates(const std::function<void(const Corpus&)>& tick) {
  Duplicates found;
  DataSplit split;
  TextRecord record;
  walk(tick, [&] {
    if (!next_unsplit(split, record)) return false;
    found.add(split, record);
    return true;
  });
  found.finish();
  duplicates_ = std::move(found);
}

void Corpus::rewind() {
  reading_ = 0;
  finished_ = 0;
  records_ = 0;
  dropped_ = 0;
  position_ = 0;
  pieces_.clear();
  bad_.clear();
  checksums_.clear();
  source_ = open(0);
}

std::unique_ptr<RecordReader> Corpus::open(size_t files) {
  return open_records(config_, files_[files], bad_, threads_);
}

void Corpus::close_source() {
  const std::vector<uint64_t> checksums = source_->checksums();
  checksums_.insert(checksums_.end(), checksums.begin(), checksums.end());
  finished_ += weft::total_bytes(files_[reading_]);
  source_.reset();
}

// The next record, and the split whose files hold it.
bool Corpus::next_undivided(DataSplit& split, TextRecord& record) {
  if (!source_) return false;  // the end was reached before
  while (!source_->next(record)) {
    close_source();
    if (reading_ + 1 == files_.size()) {
      bad_.check_share(records_, config_.max_bad_fraction);
      return false;
    }
    source_ = open(++reading_);
  }
  ++records_;
  split = static_cast<DataSplit>(reading_);
  return true;
}

// The next record and its split, before rule characters cuts the record.
bool Corpus::next_unsplit(DataSplit& split, TextRecord& record) {
  if (!next_undivided(split, record)) return false;
  if (config_.split == SplitRule::Records) split = split_at(position_++);
  if (config_.split == SplitRule::Hash) {
    split = hashed_split(config_.split_seed, position_++, config_.valid_fraction, config_.test_fraction);
  }
  return true;
}

uint64_t Corpus::consumed() const { return finished_ + (source_ ? source_->consumed() : 0); }

DataSplit Corpus::split_at(int64_t position) const {
  if (!holds_out(config_)) return DataSplit::Train;
  const int64_t total = config_.split == SplitRule::Records ? size_.records : size_.characters;
  const auto [valid, test] = position_cuts(total, config_.valid_fraction, config_.test_fraction);
  return position >= test ? DataSplit::Test : position >= valid ? DataSplit::Valid : DataSplit::Train;
}

void Corpus::cut(TextRecord&& record) {
  const int64_t end = position_ + count_characters(record.source);
  const auto [valid, test] = position_cuts(size_.characters, config_.valid_fraction, config_.test_fraction);
  if (end == position_) {  // no character begins in the record, so it belongs to the next character's split
    pieces_.emplace_back(split_at(position_), std::move(record));
    return;
  }
  std::string_view rest = record.source;
  int64_t line = record.line;
  for (const int64_t stop : {std::min(valid, end), std::min(test, end), end}) {
    if (stop <= position_) continue;
    const size_t bytes = byte_of_character(rest, stop - position_);
    pieces_.emplace_back(split_at(position_), TextRecord{.source = std::string(rest.substr(0, bytes)),
                                                         .file = record.file,
                                                         .target_file = record.target_file,
                                                         .line = line,
                                                         .on_one_line = record.on_one_line,
                                                         .ends = stop == end});
    if (!record.on_one_line) line += std::count(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(bytes), '\n');
    rest.remove_prefix(bytes);
    position_ = stop;
  }
}

bool Corpus::next(DataSplit& split, TextRecord& record) {
  require<InternalError>(!needs_size(), "a corpus that is split by position is to be measured first");
  require<InternalError>(!needs_comparison(), "duplicates are to be found first");
  while (pieces_.empty()) {
    if (!next_unsplit(split, record)) return false;
    if (config_.split == SplitRule::Characters && holds_out(config_)) {
      record.ends = true;
      cut(std::move(record));
      continue;
    }
    const bool superfluous = config_.duplicates == DuplicatePolicy::Drop && duplicates_->is_superfluous(records_ - 1);
    if (!superfluous) return true;
    ++dropped_;
  }
  split = pieces_.front().first;
  record = std::move(pieces_.front().second);
  pieces_.pop_front();
  return true;
}

}  // namespace weft
