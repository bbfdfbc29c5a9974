// SPDX-License-Identifier: Apache-2.0
#include "data/sample/baselines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "base/error.h"

namespace weft {
namespace {

constexpr int64_t kCandidates = 100;

bool is_mark(char c) { return std::string_view(".,;:?!").find(c) != std::string_view::npos; }

// Levenshtein distance of two sequences of words.
int64_t edit_distance(std::span<const int32_t> a, std::span<const int32_t> b) {
  std::vector<int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = std::exchange(row[0], static_cast<int64_t>(i));
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({substituted, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[b.size()];
}

std::vector<int32_t> distinct(std::vector<int32_t> words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

// Words and their numbers, in order of appearance.
struct Vocabulary {
  std::unordered_map<std::string, int32_t> numbers;
  std::vector<std::string> words;

  int32_t add(const std::string& word) {
    const auto [found, fresh] = numbers.emplace(word, static_cast<int32_t>(words.size()));
    if (fresh) words.push_back(word);
    return found->second;
  }
  std::vector<int32_t> add_all(std::string_view text) {
    std::vector<int32_t> result;
    for (const std::string& word : baseline_words(text)) result.push_back(add(word));
    return result;
  }
};

struct SentenceIndex {
  Vocabulary vocabulary;
  std::vector<std::vector<int32_t>> sentences;  // word numbers of each training source
  std::vector<std::vector<int32_t>> postings;   // for each word the sentences that hold it, rising

  explicit SentenceIndex(std::span<const TranslationPair> train) {
    for (const TranslationPair& pair : train) {
      const std::vector<int32_t> words = vocabulary.add_all(pair.source);
      postings.resize(vocabulary.words.size());
      for (const int32_t word : distinct(words)) postings[word].push_back(static_cast<int32_t>(sentences.size()));
      sentences.push_back(words);
    }
  }

  // The number of the sentence.
  int32_t nearest(std::string_view source) const {
    std::vector<int32_t> words;
    for (const std::string& word : baseline_words(source)) {
      const auto found = vocabulary.numbers.find(word);
      words.push_back(found == vocabulary.numbers.end() ? -1 : found->second);
    }
    std::vector<double> shared(sentences.size());
    std::vector<int32_t> candidates;
    for (const int32_t word : distinct(words)) {
      if (word < 0) continue;
      const double ratio = static_cast<double>(sentences.size()) / static_cast<double>(postings[word].size());
      for (const int32_t sentence : postings[word]) {
        if (shared[sentence] == 0) candidates.push_back(sentence);
        shared[sentence] += std::log1p(ratio);  // the inverse document frequency
      }
    }
    const auto more = [&](int32_t a, int32_t b) { return shared[a] != shared[b] ? shared[a] > shared[b] : a < b; };
    const auto kept = candidates.begin() + std::min<int64_t>(std::ssize(candidates), kCandidates);
    std::partial_sort(candidates.begin(), kept, candidates.end(), more);
    int32_t best = 0;
    int64_t fewest = std::numeric_limits<int64_t>::max();
    for (auto candidate = candidates.begin(); candidate != kept; ++candidate) {
      const int64_t edits = edit_distance(words, sentences[*candidate]);
      if (edits < fewest) best = *candidate;
      fewest = std::min(fewest, edits);
    }
    return best;
  }
};

// IBM Model 1: the probability of a target word given a source word, source word 0 being the empty word. Only pairs
// that meet in a sentence have an entry.
class ModelOne {
 public:
  explicit ModelOne(std::span<const TranslationPair> train) {
    source_.add("");
    for (const TranslationPair& pair : train) {
      Sentence sentence{.source = source_.add_all(pair.source), .target = target_.add_all(pair.target)};
      sentence.source.insert(sentence.source.begin(), 0);
      for (const int32_t target : sentence.target) {
        for (const int32_t source : sentence.source) sentence.entries.push_back(entry(source, target));
      }
      sentences_.push_back(std::move(sentence));
    }
    probability_.assign(entries_.size(), 1.0 / static_cast<double>(std::max<size_t>(target_.words.size(), 1)));
  }

  // One round of expectation maximisation.
  void round() {
    std::vector<double> count(entries_.size()), total(source_.words.size());
    for (const Sentence& sentence : sentences_) {
      for (size_t t = 0; t < sentence.target.size(); ++t) {
        double sum = 0;
        for (const int32_t entry : sentence.row(t)) sum += probability_[entry];
        for (const int32_t entry : sentence.row(t)) {
          const double share = probability_[entry] / sum;
          count[entry] += share;
          total[entries_[entry].source] += share;
        }
      }
    }
    for (size_t i = 0; i < entries_.size(); ++i) probability_[i] = count[i] / total[entries_[i].source];
  }

  // For each source word its most probable target word, or "" if it mostly stands for nothing.
  std::unordered_map<std::string, std::string> table() const {
    std::vector<int32_t> best(source_.words.size(), -1);
    std::vector<double> highest(source_.words.size(), 0);
    for (size_t i = 0; i < entries_.size(); ++i) {
      const auto [source, target] = entries_[i];
      if (probability_[i] <= highest[source]) continue;
      highest[source] = probability_[i];
      best[source] = target;
    }
    const std::vector<bool> silent = mostly_unlinked();
    std::unordered_map<std::string, std::string> table;
    for (size_t s = 1; s < silent.size(); ++s) {
      table[source_.words[s]] = silent[s] || best[s] < 0 ? std::string() : target_.words[best[s]];
    }
    return table;
  }

 private:
  struct Sentence {
    std::vector<int32_t> source, target;
    std::vector<int32_t> entries = {};  // target words x source words
    std::span<const int32_t> row(size_t t) const {
      return std::span(entries).subspan(t * source.size(), source.size());
    }
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
    std::vector<int32_t> surplus(source_.words.size());  // linked places less unlinked ones
    for (const Sentence& sentence : sentences_) {
      std::vector<bool> reached(sentence.source.size());
      for (size_t t = 0; t < sentence.target.size(); ++t) {
        const std::span<const int32_t> row = sentence.row(t);
        size_t best = 0;
        double highest = 0.99 * probability_[row[0]];  // if the empty word explains it as well, the word has it
        for (size_t s = 1; s < row.size(); ++s) {
          if (probability_[row[s]] <= highest) continue;
          highest = probability_[row[s]];
          best = s;
        }
        reached[best] = true;
      }
      for (size_t s = 1; s < sentence.source.size(); ++s) surplus[sentence.source[s]] += reached[s] ? 1 : -1;
    }
    std::vector<bool> silent;
    for (const int32_t balance : surplus) silent.push_back(balance < 0);
    return silent;
  }

  Vocabulary source_, target_;
  std::vector<Sentence> sentences_;
  std::unordered_map<uint64_t, int32_t> numbers_;
  std::vector<Entry> entries_;
  std::vector<double> probability_;
};

}  // namespace

std::vector<std::string> baseline_words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    size_t end = word.size();
    while (end > 0 && is_mark(word[end - 1])) --end;
    if (end > 0) words.emplace_back(word.substr(0, end));
    for (size_t i = end; i < word.size(); ++i) words.emplace_back(1, word[i]);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
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

std::vector<std::string> nearest_translations(std::span<const TranslationPair> train,
                                              std::span<const std::string> sources) {
  require<DataError>(!train.empty(), "a nearest neighbour needs training pairs, and there are none");
  const SentenceIndex index(train);
  std::vector<std::string> translations;
  for (const std::string& source : sources) translations.push_back(train[index.nearest(source)].target);
  return translations;
}

std::vector<std::string> word_for_word_translations(std::span<const TranslationPair> train,
                                                    std::span<const std::string> sources, int64_t rounds) {
  require<DataError>(!train.empty(), "a table of words needs training pairs, and there are none");
  ModelOne model(train);
  for (int64_t i = 0; i < rounds; ++i) model.round();
  const std::unordered_map<std::string, std::string> table = model.table();
  std::vector<std::string> translations;
  for (const std::string& source : sources) {
    std::vector<std::string> words;
    for (const std::string& word : baseline_words(source)) {
      const auto found = table.find(word);
      if (found == table.end() || !found->second.empty()) words.push_back(found == table.end() ? word : found->second);
    }
    translations.push_back(baseline_text(words));
  }
  return translations;
}

}  // namespace weft
