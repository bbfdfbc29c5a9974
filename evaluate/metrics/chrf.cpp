#include "evaluate/metrics/chrf.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/tokenizer/unicode_properties.h"
#include "data/tokenizer/utf8.h"
#include "evaluate/metrics/bleu.h"
#include "evaluate/metrics/ngrams.h"

namespace weft {
namespace {

struct OrderCounts {
  int64_t hypothesis = 0, reference = 0, matches = 0;
};
using Counts = std::vector<OrderCounts>;  // orders of characters, then of words

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Words with one punctuation mark split off the end, or else off the beginning: chrF++'s own cut.
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

std::vector<NgramCounts> read_line(const std::string& line, const ChrfConfig& config, WordIds& ids) {
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

Counts compare(const std::vector<NgramCounts>& hypothesis, const std::vector<NgramCounts>& reference) {
  Counts counts;
  for (size_t n = 0; n < hypothesis.size(); ++n) {
    // An order that the reference is too short for does not count against the hypothesis.
    counts.push_back({.hypothesis = reference[n].empty() ? 0 : total_count(hypothesis[n]),
                      .reference = total_count(reference[n]),
                      .matches = clipped_matches(hypothesis[n], reference[n])});
  }
  return counts;
}

double f_score(const Counts& counts, const ChrfConfig& config) {
  constexpr double kEpsilon = 1e-16;
  const double factor = static_cast<double>(config.beta * config.beta);
  double precision_sum = 0, recall_sum = 0, eps_sum = 0;
  int orders_met = 0;
  for (const OrderCounts& c : counts) {
    const double matches = static_cast<double>(c.matches);
    const double precision = c.hypothesis > 0 ? matches / static_cast<double>(c.hypothesis) : kEpsilon;
    const double recall = c.reference > 0 ? matches / static_cast<double>(c.reference) : kEpsilon;
    const double denominator = factor * precision + recall;
    eps_sum += denominator > 0 ? (1 + factor) * precision * recall / denominator : kEpsilon;
    if (c.hypothesis > 0 && c.reference > 0) {
      precision_sum += precision;
      recall_sum += recall;
      ++orders_met;
    }
  }
  if (config.eps_smoothing) return 100 * eps_sum / static_cast<double>(counts.size());
  if (precision_sum + recall_sum == 0) return 0;
  const double precision = precision_sum / orders_met, recall = recall_sum / orders_met;
  return 100 * (1 + factor) * precision * recall / (factor * precision + recall);
}

void check(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references) {
  require<DataError>(!hypotheses.empty(), "chrF: there is no hypothesis to score");
  require<DataError>(!references.empty(), "chrF: there is no reference to compare with");
  for (size_t k = 0; k < references.size(); ++k) {
    require<DataError>(references[k].size() == hypotheses.size(), "chrF: reference {} has {} lines, the hypotheses {}",
                       k + 1, references[k].size(), hypotheses.size());
  }
}

}  // namespace

ChrfScore corpus_chrf(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
                      const ChrfConfig& config) {
  check(hypotheses, references);
  Counts sums(config.char_order + config.word_order);
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    WordIds ids;
    const std::vector<NgramCounts> hypothesis = read_line(hypotheses[i], config, ids);
    Counts best;
    double best_score = -1;
    for (const auto& stream : references) {
      Counts counts = compare(hypothesis, read_line(stream[i], config, ids));
      const double score = f_score(counts, config);
      if (score > best_score) {
        best_score = score;
        best = std::move(counts);
      }
    }
    for (size_t n = 0; n < sums.size(); ++n) {
      sums[n].hypothesis += best[n].hypothesis;
      sums[n].reference += best[n].reference;
      sums[n].matches += best[n].matches;
    }
  }
  return {.score = f_score(sums, config),
          .name = fmt::format("chrF{}{}", config.beta, std::string(config.word_order, '+')),
          .signature =
              fmt::format("nrefs:{}|case:{}|eff:{}|nc:{}|nw:{}|space:{}|version:{}", references.size(),
                          config.lowercase ? "lc" : "mixed", config.eps_smoothing ? "no" : "yes", config.char_order,
                          config.word_order, config.whitespace ? "yes" : "no", kMetricsVersion)};
}

std::string ChrfScore::format() const { return fmt::format("{}|{} = {:.2f}", name, signature, score); }

void to_json(nlohmann::json& json, const ChrfScore& score) {
  json = {{"name", score.name}, {"score", score.score}, {"signature", score.signature}};
}

}  // namespace weft
