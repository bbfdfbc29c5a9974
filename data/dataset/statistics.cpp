// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/statistics.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_set>
#include <utility>

#include "data/text/text_size.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {
namespace {

constexpr int64_t kTokensAtOnce = int64_t{1} << 20;

// The next place of 10, 20, 50, 100, 200, ... after one of them.
int64_t next_place(int64_t place) {
  int64_t power = place;
  while (power % 10 == 0) power /= 10;
  return power == 2 ? place / 2 * 5 : place * 2;
}

int64_t next_rank(int64_t rank) { return rank + std::max<int64_t>(rank / 8, 1); }

// Counts the texts of one side, each in parts of any length.
class SideCounter {
 public:
  SideCounter(TokenizerPtr tokenizer, int64_t vocabulary)
      : tokenizer_(std::move(tokenizer)),
        unknown_(tokenizer_->special(SpecialRole::Unk)),
        counts_(static_cast<size_t>(vocabulary)) {
    side_.vocabulary = vocabulary;
    side_.sizes.emplace();
  }

  void add(std::span<const int32_t> ids);
  int64_t end_text();  // returns the text's number of tokens
  SideStatistics finish(int64_t frequent);
  std::unordered_set<std::string> texts() const;  // of the tokens that occur

 private:
  void count(int32_t id);
  void measure();
  std::vector<int32_t> by_count() const;  // the tokens that occur, the most frequent first
  std::vector<TokenRank> ranks(std::span<const int32_t> ids) const;
  std::string text(std::span<const int32_t> ids) const {
    return tokenizer_->decode(ids, {.show_specials = true, .continues = true});
  }

  TokenizerPtr tokenizer_;
  std::optional<int32_t> unknown_;
  std::vector<int64_t> counts_;  // by id
  SideStatistics side_;
  int64_t all_ = 0, next_place_ = 10;
  int64_t length_ = 0;             // tokens of this text so far
  std::vector<int32_t> part_;      // tokens of this text that are not measured yet
  std::optional<int32_t> before_;  // the token before them
  TextSize size_;
};

void SideCounter::count(int32_t id) {
  side_.distinct += counts_[static_cast<size_t>(id)]++ == 0;
  if (++all_ == next_place_) {
    side_.growth.push_back({all_, side_.distinct});
    next_place_ = next_place(next_place_);
  }
}

void SideCounter::add(std::span<const int32_t> ids) {
  part_.clear();
  for (const int32_t id : ids) {
    if (id != unknown_ && tokenizer_->is_special(id)) continue;
    count(id);
    part_.push_back(id);
    if (id == unknown_) side_.sizes.reset();
  }
  length_ += static_cast<int64_t>(part_.size());
  if (side_.sizes && !part_.empty()) measure();
}

// What a tokenizer puts between two tokens (a space between words) belongs to the second part of a text.
void SideCounter::measure() {
  if (!before_) {
    size_.add(tokenizer_->decode(part_));
  } else {
    part_.insert(part_.begin(), *before_);
    size_.add(std::string_view(text(part_)).substr(text({&*before_, 1}).size()));
  }
  before_ = part_.back();
}

int64_t SideCounter::end_text() {
  side_.tokens.add(length_);
  if (side_.sizes) {
    side_.sizes->words.add(size_.words());
    side_.sizes->bytes.add(size_.bytes());
  }
  size_ = {};
  before_.reset();
  return std::exchange(length_, 0);
}

std::unordered_set<std::string> SideCounter::texts() const {
  std::unordered_set<std::string> texts;
  for (int32_t id = 0; id < static_cast<int32_t>(counts_.size()); ++id) {
    if (counts_[static_cast<size_t>(id)] > 0) texts.insert(text({&id, 1}));
  }
  return texts;
}

std::vector<int32_t> SideCounter::by_count() const {
  std::vector<int32_t> ids;
  for (size_t id = 0; id < counts_.size(); ++id) {
    if (counts_[id] > 0) ids.push_back(static_cast<int32_t>(id));
  }
  std::ranges::sort(ids, [&](int32_t a, int32_t b) {
    const int64_t of_a = counts_[static_cast<size_t>(a)], of_b = counts_[static_cast<size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  });
  return ids;
}

std::vector<TokenRank> SideCounter::ranks(std::span<const int32_t> ids) const {
  std::vector<TokenRank> ranks;
  int64_t covered = 0, wanted = 1;
  for (int64_t rank = 1; rank <= std::ssize(ids); ++rank) {
    const int64_t count = counts_[static_cast<size_t>(ids[static_cast<size_t>(rank - 1)])];
    covered += count;
    if (rank < wanted && rank < std::ssize(ids)) continue;
    ranks.push_back({rank, count, covered});
    wanted = next_rank(rank);
  }
  return ranks;
}

SideStatistics SideCounter::finish(int64_t frequent) {
  if (all_ > 0 && (side_.growth.empty() || side_.growth.back().tokens < all_))
    side_.growth.push_back({all_, side_.distinct});
  const std::vector<int32_t> ids = by_count();
  side_.ranks = ranks(ids);
  const int64_t listed = std::min(std::ssize(ids), frequent);
  for (const int32_t id : std::span(ids).first(static_cast<size_t>(listed)))
    side_.frequent.push_back({id, counts_[static_cast<size_t>(id)], text({&id, 1})});
  return std::move(side_);
}

void count_documents(const Dataset& dataset, SideCounter& counter) {
  const int64_t documents = dataset.header().num_documents;
  std::vector<int32_t> ids;
  int64_t at = 0;
  for (int64_t document = 0; document < documents; ++document) {
    const int64_t end = document + 1 < documents ? dataset.document_begin(document + 1) : dataset.num_tokens();
    while (at < end) {
      ids.resize(static_cast<size_t>(std::min(kTokensAtOnce, end - at)));
      dataset.read_tokens(at, ids);
      counter.add(ids);
      at += static_cast<int64_t>(ids.size());
    }
    counter.end_text();
  }
}

PairStatistics count_pairs(const Dataset& dataset, SideCounter& sources, SideCounter& targets) {
  PairStatistics both;
  std::vector<int32_t> ids;
  for (int64_t pair = 0; pair < dataset.num_pairs(); ++pair) {
    ids.resize(static_cast<size_t>(dataset.source_length(pair)));
    dataset.read_source(pair, ids);
    sources.add(ids);
    ids.resize(static_cast<size_t>(dataset.target_length(pair)));
    dataset.read_target(pair, ids);
    targets.add(ids);
    const int64_t source = sources.end_text(), target = targets.end_text();
    if (source > 0) both.ratio_percent.add(std::llround(100 * static_cast<double>(target) / double(source)));
  }
  const auto of_source = sources.texts(), of_target = targets.texts();
  both.shared = std::ranges::count_if(of_source, [&](const std::string& text) { return of_target.contains(text); });
  return both;
}

}  // namespace

std::vector<SplitStatistics> dataset_statistics(const fs::path& directory, int64_t frequent) {
  std::vector<SplitStatistics> all;
  for (const DataSplit split : Dataset::splits(directory)) {
    const Dataset dataset = Dataset::open(directory, split, ShardShare::none());
    const DatasetHeader& header = dataset.header();
    SplitStatistics statistics{.split = split, .kind = header.kind};
    SideCounter source(dataset.load_source_tokenizer(), header.source.vocabulary);
    if (has_two_sides(header.kind)) {
      SideCounter target(dataset.load_target_tokenizer(), header.target.vocabulary);
      statistics.both = count_pairs(dataset, source, target);
      statistics.target = target.finish(frequent);
    } else {
      count_documents(dataset, source);
    }
    statistics.source = source.finish(frequent);
    all.push_back(std::move(statistics));
  }
  return all;
}

}  // namespace weft
