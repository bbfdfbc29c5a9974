// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/bpe/learn.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/error.h"

namespace weft {

namespace {

// All different pretokens end to end, each between two separators. A symbol takes as many slots as it has bytes: the
// first slot holds its id, the last of several slots holds minus their number, so that both neighbours of a place are
// found without links.
class SymbolText {
 public:
  explicit SymbolText(std::span<const CountedPretoken> pretokens);

  int32_t at(uint32_t place) const { return slots_[place]; }
  size_t size() const { return slots_.size(); }
  int64_t weight(uint32_t place) const { return weights_[pretoken_of_[place]]; }
  void add_symbol(size_t bytes) { lengths_.push_back(static_cast<uint32_t>(bytes)); }
  uint32_t length(int32_t symbol) const { return lengths_[static_cast<size_t>(symbol)]; }

  // The place of the next symbol, or of a separator.
  uint32_t next(uint32_t place) const { return place + length(slots_[place]); }
  // The place of the symbol before, or `place` itself at the beginning of a pretoken.
  uint32_t previous(uint32_t place) const {
    const int32_t slot = slots_[place - 1];
    if (slot == kSeparator) return place;
    return slot >= 0 ? place - 1 : place - static_cast<uint32_t>(-slot);
  }
  bool is_symbol(uint32_t place) const { return slots_[place] >= 0; }

  void join(uint32_t place, int32_t symbol) {
    slots_[next(place)] = kInside;
    slots_[place] = symbol;
    const uint32_t bytes = length(symbol);
    slots_[place + bytes - 1] = -static_cast<int32_t>(bytes);
  }

 private:
  static constexpr int32_t kSeparator = INT32_MIN;
  static constexpr int32_t kInside = INT32_MIN + 1;

  std::vector<int32_t> slots_;
  std::vector<uint32_t> pretoken_of_;
  std::vector<int64_t> weights_;
  std::vector<uint32_t> lengths_ = std::vector<uint32_t>(256, 1);
};

SymbolText::SymbolText(std::span<const CountedPretoken> pretokens) {
  size_t slots = 1;
  for (const CountedPretoken& pretoken : pretokens) slots += pretoken.text.size() + 1;
  if (slots >= UINT32_MAX) {
    throw DataError(
        fmt::format("tokenizer: the different pretokens of the text have {} bytes (at most {})", slots, UINT32_MAX),
        "learn from less text, or with a pattern that splits it into smaller pretokens");
  }
  slots_.reserve(slots);
  pretoken_of_.reserve(slots);
  weights_.reserve(pretokens.size());
  slots_.push_back(kSeparator);
  pretoken_of_.push_back(0);
  for (const CountedPretoken& pretoken : pretokens) {
    const auto index = static_cast<uint32_t>(weights_.size());
    weights_.push_back(pretoken.count);
    for (char c : pretoken.text) slots_.push_back(static_cast<unsigned char>(c));
    slots_.push_back(kSeparator);
    pretoken_of_.insert(pretoken_of_.end(), pretoken.text.size() + 1, index);
  }
}

// Symbols 0 to 255 are bytes; each merge adds a symbol.
class Learner {
 public:
  explicit Learner(const BpeLearnArgs& args) : args_(args), text_(args.pretokens) {}
  std::vector<BpeMerge> run();

 private:
  // After the merge that made the newer of its two symbols, a pair only loses places. So its places are listed once, in
  // ascending order, and a place that no longer holds the pair is skipped when it is reached.
  struct Pair {
    int64_t count = 0;
    size_t first = 0;  // index into `places` of the first that may still hold the pair
    std::vector<uint32_t> places;
  };
  // The count of a pair can only fall, and its first place only rise: an outdated candidate is too high in the heap,
  // never too low, and is corrected when it reaches the top.
  struct Candidate {
    int64_t count;
    uint32_t place;
    uint64_t pair;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : place > other.place;
    }
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }
  static int32_t left_of(uint64_t key) { return static_cast<int32_t>(key >> 32); }
  static int32_t right_of(uint64_t key) { return static_cast<int32_t>(key & UINT32_MAX); }

  void add(int32_t left, int32_t right, uint32_t place, int64_t weight);
  void remove(int32_t left, int32_t right, int64_t weight);
  bool holds(uint64_t key, uint32_t place) const;
  void offer(uint64_t key, Pair& pair);
  bool pop_best(uint64_t& key);
  void merge(uint64_t key, int32_t symbol);
  bool fits(uint64_t key) const;
  int32_t id_of(int32_t symbol) const { return symbol < 256 ? symbol : args_.first_id + symbol - 256; }

  const BpeLearnArgs& args_;
  SymbolText text_;
  std::unordered_map<uint64_t, Pair> pairs_;
  std::vector<Candidate> heap_;
  std::vector<uint64_t> made_;  // the pairs that contain the newest symbol
};

void Learner::add(int32_t left, int32_t right, uint32_t place, int64_t weight) {
  const uint64_t key = key_of(left, right);
  const auto [entry, is_new] = pairs_.try_emplace(key);
  if (is_new) made_.push_back(key);
  entry->second.count += weight;
  entry->second.places.push_back(place);
}

void Learner::remove(int32_t left, int32_t right, int64_t weight) {
  const auto entry = pairs_.find(key_of(left, right));
  if (entry != pairs_.end()) entry->second.count -= weight;
}

bool Learner::holds(uint64_t key, uint32_t place) const {
  if (text_.at(place) != left_of(key)) return false;
  return text_.at(text_.next(place)) == right_of(key);
}

void Learner::offer(uint64_t key, Pair& pair) {
  while (pair.first < pair.places.size() && !holds(key, pair.places[pair.first])) ++pair.first;
  if (pair.count < args_.min_frequency || pair.first == pair.places.size()) {
    pairs_.erase(key);
    return;
  }
  heap_.push_back({pair.count, pair.places[pair.first], key});
  std::push_heap(heap_.begin(), heap_.end());
}

bool Learner::pop_best(uint64_t& key) {
  while (!heap_.empty()) {
    const Candidate top = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    const auto entry = pairs_.find(top.pair);
    if (entry == pairs_.end()) continue;
    Pair& pair = entry->second;
    if (!fits(top.pair)) {
      pairs_.erase(entry);
    } else if (pair.count != top.count || !holds(top.pair, top.place)) {
      offer(top.pair, pair);
    } else {
      key = top.pair;
      return true;
    }
  }
  return false;
}

bool Learner::fits(uint64_t key) const {
  return size_t{text_.length(left_of(key))} + text_.length(right_of(key)) <= kMaxTokenBytes;
}

void Learner::merge(uint64_t key, int32_t symbol) {
  const int32_t left = left_of(key), right = right_of(key);
  const auto entry = pairs_.extract(key);
  made_.clear();
  const Pair& pair = entry.mapped();
  for (size_t i = pair.first; i < pair.places.size(); ++i) {
    const uint32_t place = pair.places[i];
    if (!holds(key, place)) continue;
    const int64_t weight = text_.weight(place);
    const uint32_t before = text_.previous(place);
    const uint32_t after = text_.next(text_.next(place));
    if (before != place) remove(text_.at(before), left, weight);
    if (text_.is_symbol(after)) remove(right, text_.at(after), weight);
    text_.join(place, symbol);
    if (before != place) add(text_.at(before), symbol, before, weight);
    if (text_.is_symbol(after)) add(symbol, text_.at(after), place, weight);
  }
  for (uint64_t made : made_) offer(made, pairs_.at(made));
}

std::vector<BpeMerge> Learner::run() {
  for (uint32_t place = 1; place + 1 < text_.size(); ++place) {
    if (text_.is_symbol(place) && text_.is_symbol(place + 1)) {
      add(text_.at(place), text_.at(place + 1), place, text_.weight(place));
    }
  }
  for (uint64_t made : made_) offer(made, pairs_.at(made));
  std::vector<BpeMerge> merges;
  uint64_t key = 0;
  while (static_cast<int64_t>(merges.size()) < args_.max_merges && pop_best(key)) {
    const auto symbol = static_cast<int32_t>(256 + merges.size());
    merges.push_back({id_of(left_of(key)), id_of(right_of(key)), id_of(symbol)});
    text_.add_symbol(text_.length(left_of(key)) + text_.length(right_of(key)));
    merge(key, symbol);
  }
  return merges;
}

}  // namespace

std::vector<BpeMerge> learn_merges(const BpeLearnArgs& args) {
  require<InternalError>(args.max_merges >= 0 && args.first_id >= 256 && args.first_id + args.max_merges <= kMaxTokenId,
                         "learn_merges: {} merges from id {} on exceed id {}", args.max_merges, args.first_id,
                         kMaxTokenId);
  return Learner(args).run();
}

}  // namespace weft
