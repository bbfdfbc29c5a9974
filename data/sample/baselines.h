// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Two translators that learn nothing of grammar. Their BLEU beside a model's says how much of a test set can be had by
// looking things up. Both throw DataError if there are no pairs to learn from.
namespace weft {

struct TranslationPair {
  std::string source;
  std::string target;
};

// Words at blanks, with the marks . , ; : ? ! at their ends as words of their own.
std::vector<std::string> baseline_words(std::string_view text);
// The reverse: marks stand close to the word before them.
std::string baseline_text(std::span<const std::string> words);

// The translation of the training sentence that is nearest to each source: the one with the fewest word edits
// (insertions, deletions, substitutions) among the hundred that share most words with it, rare words weighing more
// (their inverse document frequency); then the one that shares more; then the one that comes first.
std::vector<std::string> nearest_translations(std::span<const TranslationPair> train,
                                              std::span<const std::string> sources);

// Word for word, in the order of the source, with the most probable word of IBM Model 1 (Brown et al., "The mathematics
// of statistical machine translation", Computational Linguistics 1993) after `rounds` of expectation maximisation.
// Words that are linked to no word of the translation in more than half of the training sentences are left out;
// unknown words are copied.
std::vector<std::string> word_for_word_translations(std::span<const TranslationPair> train,
                                                    std::span<const std::string> sources, int64_t rounds = 8);

}  // namespace weft
