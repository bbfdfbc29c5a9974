#include "data/sample/baselines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace weft {
namespace {

constexpr std::string_view kMarks = ".,;:?!";

bool is_mark(char c) { return kMarks.find(c) != std::string_view::npos; }

// Levenshtein distance of two sequences of words.
int64_t edit_distance(std::span<const int32_t> a, std::span<const int32_t> b) {
  std::vector<int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::vector<int32_t> distinct(std::vector<int32_t> words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

// Numbers for words, in order of appearance.
class Numbering {
 public:
  int32_t number(const std::string& word) {
    const auto [found, fresh] = numbers_.emplace(word, static_cast<int32_t>(words_.size()));
    if (fresh) words_.push_back(word);
    return found->second;
  }
  std::vector<int32_t> numbers(std::string_view text) {
    std::vector<int32_t> result;
    for (const std::string& word : baseline_words(text)) result.push_back(number(word));
    return result;
  }
  const std::string& word(int32_t number) const { return words_[number]; }
  int64_t size() const { return static_cast<int64_t>(words_.size()); }

 private:
  std::unordered_map<std::string, int32_t> numbers_;
  std::vector<std::string> words_;
};

// IBM Model 1: the probability of a target word given a source word, source word 0 being the empty word. Only pairs
// that meet in a sentence have an entry.
class ModelOne {
 public:
  explicit ModelOne(std::span<const TranslationPair> train) {
    source_.number("");
    for (const TranslationPair& pair : train) {
      Sentence sentence{.source = source_.numbers(pair.source), .target = target_.numbers(pair.target)};
      sentence.source.insert(sentence.source.begin(), 0);
      for (const int32_t target : sentence.target) {
        for (const int32_t source : sentence.source) sentence.entries.push_back(entry(source, target));
      }
      sentences_.push_back(std::move(sentence));
    }
    probability_.assign(entries_.size(), 1.0 / static_cast<double>(std::max<int64_t>(target_.size(), 1)));
  }

  // One round of expectation maximisation.
  void round() {
    std::vector<double> count(entries_.size()), total(source_.size());
    for (const Sentence& sentence : sentences_) {
      for (size_t t = 0; t < sentence.target.size(); ++t) {
        const int32_t* row = sentence.entries.data() + t * sentence.source.size();
        double sum = 0;
        for (size_t s = 0; s < sentence.source.size(); ++s) sum += probability_[row[s]];
        for (size_t s = 0; s < sentence.source.size(); ++s) {
          const double share = probability_[row[s]] / sum;
          count[row[s]] += share;
          total[sentence.source[s]] += share;
        }
      }
    }
    for (size_t i = 0; i < entries_.size(); ++i) probability_[i] = count[i] / total[entries_[i].source];
  }

  // For each source word its most probable target word, or "" where it mostly stands for nothing.
  std::unordered_map<std::string, std::string> table() const {
    std::vector<int32_t> best(source_.size(), -1);
    std::vector<double> highest(source_.size(), 0);
    for (size_t i = 0; i < entries_.size(); ++i) {
      const auto [source, target] = entries_[i];
      if (probability_[i] > highest[source]) {
        highest[source] = probability_[i];
        best[source] = target;
      }
    }
    const std::vector<bool> silent = mostly_unlinked();
    std::unordered_map<std::string, std::string> table;
    for (int32_t s = 1; s < source_.size(); ++s) {
      table[source_.word(s)] = silent[s] || best[s] < 0 ? std::string() : target_.word(best[s]);
    }
    return table;
  }

 private:
  struct Sentence {
    std::vector<int32_t> source, target;
    std::vector<int32_t> entries;  // target words x source words
  };
  struct Entry {
    int32_t source, target;
  };

  int32_t entry(int32_t source, int32_t target) {
    const uint64_t key = uint64_t{static_cast<uint32_t>(source)} << 32 | static_cast<uint32_t>(target);
    const auto [found, fresh] = numbers_.emplace(key, static_cast<int32_t>(entries_.size()));
    if (fresh) entries_.push_back({source, target});
    return found->second;
  }

  // Every target word is linked to its most probable source word; which source words get a link in fewer than half of
  // their places?
  std::vector<bool> mostly_unlinked() const {
    std::vector<int64_t> places(source_.size()), linked(source_.size());
    for (const Sentence& sentence : sentences_) {
      std::vector<bool> reached(sentence.source.size());
      for (size_t t = 0; t < sentence.target.size(); ++t) {
        const int32_t* row = sentence.entries.data() + t * sentence.source.size();
        size_t best = 0;
        double highest = 0.99 * probability_[row[0]];  // where the empty word explains it as well, the word has it
        for (size_t s = 1; s < sentence.source.size(); ++s) {
          if (probability_[row[s]] <= highest) continue;
          highest = probability_[row[s]];
          best = s;
        }
        reached[best] = true;
      }
      for (size_t s = 1; s < sentence.source.size(); ++s) {
        ++places[sentence.source[s]];
        linked[sentence.source[s]] += reached[s] ? 1 : 0;
      }
    }
    std::vector<bool> silent(source_.size());
    for (size_t s = 0; s < silent.size(); ++s) silent[s] = 2 * linked[s] < places[s];
    return silent;
  }

  Numbering source_, target_;
  std::vector<Sentence> sentences_;
  std::unordered_map<uint64_t, int32_t> numbers_;
  std::vector<Entry> entries_;
  std::vector<double> probability_;
};

}  // namespace

std::vector<std::string> baseline_words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t blank = std::min(text.find(' '), text.size());
    const std::string_view piece = text.substr(0, blank);
    size_t end = piece.size();
    while (end > 0 && is_mark(piece[end - 1])) --end;
    if (end > 0) words.emplace_back(piece.substr(0, end));
    for (size_t i = end; i < piece.size(); ++i) words.emplace_back(1, piece[i]);
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  return words;
}

std::string baseline_text(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty() && !(word.size() == 1 && is_mark(word[0]))) text += ' ';
    text += word;
  }
  return text;
}

NearestNeighbour::NearestNeighbour(std::span<const TranslationPair> train) {
  require<DataError>(!train.empty(), "a nearest neighbour needs training pairs, and there are none");
  for (const TranslationPair& pair : train) {
    std::vector<int32_t> words;
    for (const std::string& word : baseline_words(pair.source)) {
      words.push_back(vocabulary_.emplace(word, static_cast<int32_t>(vocabulary_.size())).first->second);
    }
    postings_.resize(vocabulary_.size());
    for (const int32_t word : distinct(words)) postings_[word].push_back(static_cast<int32_t>(sources_.size()));
    sources_.push_back(std::move(words));
    targets_.push_back(pair.target);
  }
  for (const auto& posting : postings_) {
    weights_.push_back(std::log1p(static_cast<double>(sources_.size()) / static_cast<double>(posting.size())));
  }
}

std::vector<int32_t> NearestNeighbour::known_words(std::string_view source) const {
  std::vector<int32_t> words;
  for (const std::string& word : baseline_words(source)) {
    const auto found = vocabulary_.find(word);
    words.push_back(found == vocabulary_.end() ? -1 : found->second);
  }
  return words;
}

int64_t NearestNeighbour::nearest(std::string_view source) const {
  const std::vector<int32_t> words = known_words(source);
  std::vector<double> shared(sources_.size());
  std::vector<int32_t> candidates;
  for (const int32_t word : distinct(words)) {
    if (word < 0) continue;
    for (const int32_t sentence : postings_[word]) {
      if (shared[sentence] == 0) candidates.push_back(sentence);
      shared[sentence] += weights_[word];
    }
  }
  const auto more = [&](int32_t a, int32_t b) { return shared[a] != shared[b] ? shared[a] > shared[b] : a < b; };
  const size_t kept = std::min<size_t>(candidates.size(), kCandidates);
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<int64_t>(kept), candidates.end(), more);
  int64_t best = 0, fewest = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < kept; ++i) {
    const int64_t edits = edit_distance(words, sources_[candidates[i]]);
    if (edits < fewest) {
      fewest = edits;
      best = candidates[i];
    }
  }
  return best;
}

const std::string& NearestNeighbour::translate(std::string_view source) const { return targets_[nearest(source)]; }

WordTable::WordTable(std::span<const TranslationPair> train, int64_t rounds) {
  require<DataError>(!train.empty(), "a table of words needs training pairs, and there are none");
  ModelOne model(train);
  for (int64_t i = 0; i < rounds; ++i) model.round();
  table_ = model.table();
}

std::string WordTable::translate(std::string_view source) const {
  std::vector<std::string> words;
  for (const std::string& word : baseline_words(source)) {
    const auto found = table_.find(word);
    if (found == table_.end()) {
      words.push_back(word);
    } else if (!found->second.empty()) {
      words.push_back(found->second);
    }
  }
  return baseline_text(words);
}

}  // namespace weft
