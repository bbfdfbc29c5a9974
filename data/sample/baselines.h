#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// Two translators that learn nothing of grammar. Their BLEU beside a model's says how much of a test set can be had by
// looking things up.
namespace weft {

struct TranslationPair {
  std::string source;
  std::string target;
};

// Words at blanks, with the marks . , ; : ? ! at their ends as words of their own.
std::vector<std::string> baseline_words(std::string_view text);
// The reverse: marks stand close to the word before them.
std::string baseline_text(std::span<const std::string> words);

// Answers with the translation of the training sentence that is nearest to the source: the one with the fewest word
// edits (insertions, deletions, substitutions) among the kCandidates that share most words with it, rare words
// weighing more (their inverse document frequency); then the one that shares more; then the one that comes first.
class NearestNeighbour {
 public:
  static constexpr int64_t kCandidates = 100;

  // Keeps a copy of what it needs. Throws DataError where there are no pairs.
  explicit NearestNeighbour(std::span<const TranslationPair> train);
  const std::string& translate(std::string_view source) const;
  int64_t nearest(std::string_view source) const;  // the number of the training pair

 private:
  std::vector<int32_t> known_words(std::string_view source) const;  // -1 for words never seen

  std::unordered_map<std::string, int32_t> vocabulary_;
  std::vector<std::vector<int32_t>> sources_;   // word numbers of each training source
  std::vector<std::vector<int32_t>> postings_;  // for each word the sources that hold it, rising
  std::vector<double> weights_;                 // inverse document frequencies
  std::vector<std::string> targets_;
};

// Translates word for word, in the order of the source, with the most probable word of IBM Model 1 (Brown et al., "The
// mathematics of statistical machine translation", Computational Linguistics 1993). Words that are linked to no word of
// the translation in more than half of the training sentences are left out; unknown words are copied.
class WordTable {
 public:
  // Throws DataError where there are no pairs.
  explicit WordTable(std::span<const TranslationPair> train, int64_t rounds = 8);
  std::string translate(std::string_view source) const;

 private:
  std::unordered_map<std::string, std::string> table_;  // empty: left out
};

}  // namespace weft
