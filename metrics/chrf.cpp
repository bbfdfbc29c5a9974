// SPDX-License-Identifier: Apache-2.0
#include "metrics/chrf.h"

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/text/unicode_properties.h"
#include "metrics/ngrams.h"
#include "metrics/text_passes.h"

namespace weft {
namespace {

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// The words with one punctuation mark split off at the end or, if there is none, at the beginning, as chrF++ does.
std::vector<std::u32string> words_of(std::u32string_view text) {
  std::vector<std::u32string> out;
  for (const std::u32string& word : split_words(text)) {
    if (word.size() > 1 && is_ascii_punctuation(word.back())) {
      out.push_back(word.substr(0, word.size() - 1));
      out.push_back(word.substr(word.size() - 1));
    } else if (word.size() > 1 && is_ascii_punctuation(word.front())) {
      out.push_back(word.substr(0, 1));
      out.push_back(word.substr(1));
    } else {
      out.push_back(word);
    }
  }
  return out;
}

std::vector<NgramCounts> read_line(std::string_view line, const ChrfConfig& config, WordIds& ids) {
  std::u32string text = decode_utf8(line);
  if (config.lowercase) text = to_lower(text);
  std::vector<uint32_t> characters;
  for (const char32_t c : text) {
    if (config.whitespace || !(character_properties(c) & kSpace)) characters.push_back(c);
  }
  std::vector<NgramCounts> ngrams;
  for (int order = 1; order <= config.char_order; ++order) ngrams.push_back(count_ngrams(characters, order));
  if (config.word_order > 0) {
    const std::vector<uint32_t> words = ids(words_of(text));
    for (int order = 1; order <= config.word_order; ++order) ngrams.push_back(count_ngrams(words, order));
  }
  return ngrams;
}

std::vector<double> compare(const std::vector<NgramCounts>& hypothesis, const std::vector<NgramCounts>& reference) {
  std::vector<double> row;
  for (size_t n = 0; n < hypothesis.size(); ++n) {
    // If the reference is too short for an order, the order does not count against the hypothesis.
    row.push_back(reference[n].empty() ? 0 : static_cast<double>(total_count(hypothesis[n])));
    row.push_back(static_cast<double>(total_count(reference[n])));
    row.push_back(static_cast<double>(clipped_matches(hypothesis[n], reference[n])));
  }
  return row;
}

}  // namespace

std::string Chrf::name() const { return fmt::format("chrF{}{}", config_.beta, std::string(config_.word_order, '+')); }

SignatureFields Chrf::settings() const {
  return {{"case", config_.lowercase ? "lc" : "mixed"},
          {"eff", config_.eps_smoothing ? "no" : "yes"},
          {"nc", std::to_string(config_.char_order)},
          {"nw", std::to_string(config_.word_order)},
          {"space", config_.whitespace ? "yes" : "no"}};
}

double Chrf::score(std::span<const double> sums) const {
  constexpr double kEpsilon = 1e-16;
  const double factor = static_cast<double>(config_.beta * config_.beta);
  double precision_sum = 0, recall_sum = 0, eps_sum = 0;
  int orders_met = 0;
  for (size_t n = 0; n < sums.size(); n += 3) {
    const double hypothesis = sums[n], reference = sums[n + 1], matches = sums[n + 2];
    const double precision = hypothesis > 0 ? matches / hypothesis : kEpsilon;
    const double recall = reference > 0 ? matches / reference : kEpsilon;
    const double denominator = factor * precision + recall;
    eps_sum += denominator > 0 ? (1 + factor) * precision * recall / denominator : kEpsilon;
    if (hypothesis > 0 && reference > 0) {
      precision_sum += precision;
      recall_sum += recall;
      ++orders_met;
    }
  }
  if (config_.eps_smoothing) return 100 * eps_sum / static_cast<double>(config_.char_order + config_.word_order);
  if (precision_sum + recall_sum == 0) return 0;
  const double precision = precision_sum / orders_met, recall = recall_sum / orders_met;
  return 100 * (1 + factor) * precision * recall / (factor * precision + recall);
}

std::vector<double> Chrf::line_statistics(std::string_view hypothesis,
                                          std::span<const std::string_view> references) const {
  WordIds ids;
  const std::vector<NgramCounts> line = read_line(hypothesis, config_, ids);
  std::vector<double> best;
  double best_score = -1;
  for (const std::string_view reference : references) {
    std::vector<double> row = compare(line, read_line(reference, config_, ids));
    if (const double found = score(row); found > best_score) {
      best_score = found;
      best = std::move(row);
    }
  }
  return best;
}

}  // namespace weft
