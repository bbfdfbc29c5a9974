// SPDX-License-Identifier: Apache-2.0
#include "metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/text/unicode_properties.h"
#include "metrics/ngrams.h"

namespace weft {
namespace {

constexpr int64_t kTokenizedLinesTolerated = 100;

double smooth_value(const BleuConfig& config) {
  return config.smooth_value.value_or(config.smoothing == BleuSmoothing::Floor ? 0.1 : 1.0);
}

// One line of text: its length in tokens and its n-grams of every order.
struct Line {
  int64_t length = 0;
  std::vector<NgramCounts> ngrams;
};

Line read_line(std::string_view text, const BleuConfig& config, WordIds& ids) {
  std::u32string characters = decode_utf8(text);
  if (config.lowercase) characters = to_lower(characters);
  const std::vector<uint32_t> tokens = ids(tokenize_for_bleu(config.tokenizer, characters));
  Line line{.length = static_cast<int64_t>(tokens.size())};
  for (int order = 1; order <= config.max_order; ++order) line.ngrams.push_back(count_ngrams(tokens, order));
  return line;
}

// Whether `length` is closer to the hypothesis's length than `than` is; of two equally close lengths, the shorter is.
bool closer(int64_t length, int64_t than, int64_t to) {
  const int64_t a = std::abs(length - to), b = std::abs(than - to);
  return a < b || (a == b && length < than);
}

int64_t closest_length(const std::vector<Line>& references, int64_t hypothesis) {
  int64_t closest = references.front().length;
  for (const Line& reference : references) {
    if (closer(reference.length, closest, hypothesis)) closest = reference.length;
  }
  return closest;
}

// Fills precisions, brevity penalty and score from the corpus's sums.
void finish(BleuScore& sums, const BleuConfig& config) {
  const double hypothesis = static_cast<double>(sums.hypothesis_length);
  const double reference = static_cast<double>(sums.reference_length);
  if (hypothesis < reference) sums.brevity_penalty = hypothesis > 0 ? std::exp(1 - reference / hypothesis) : 0;
  const size_t orders = sums.matches.size();
  sums.precisions.assign(orders, 0.0);
  bool any_match = false;
  for (const int64_t matches : sums.matches) any_match |= matches > 0;
  if (!any_match) return;

  double exp_divisor = 1;
  size_t used_orders = orders;
  for (size_t n = 0; n < orders; ++n) {
    const double added = config.smoothing == BleuSmoothing::AddK && n > 0 ? smooth_value(config) : 0;
    const double matches = static_cast<double>(sums.matches[n]) + added;
    const double total = static_cast<double>(sums.totals[n]) + added;
    if (total == 0) break;
    if (config.effective_order) used_orders = n + 1;
    if (matches > 0) {
      sums.precisions[n] = 100 * matches / total;
    } else if (config.smoothing == BleuSmoothing::Exp) {
      sums.precisions[n] = 100 / ((exp_divisor *= 2) * total);
    } else if (config.smoothing == BleuSmoothing::Floor) {
      sums.precisions[n] = 100 * smooth_value(config) / total;
    }
  }
  double log_sum = 0;
  for (size_t n = 0; n < used_orders; ++n) log_sum += std::log(sums.precisions[n]);  // log 0 = -inf: the score is 0
  sums.score = sums.brevity_penalty * std::exp(log_sum / static_cast<double>(used_orders));
}

}  // namespace

SignatureFields Bleu::settings() const {
  std::string smooth(enum_name(config_.smoothing));
  if (config_.smoothing == BleuSmoothing::Floor || config_.smoothing == BleuSmoothing::AddK) {
    smooth += fmt::format("[{:.2f}]", smooth_value(config_));
  }
  return {{"case", config_.lowercase ? "lc" : "mixed"},
          {"eff", config_.effective_order ? "yes" : "no"},
          {"tok", std::string(enum_name(config_.tokenizer))},
          {"smooth", smooth}};
}

std::vector<double> Bleu::line_statistics(std::string_view hypothesis,
                                          std::span<const std::string_view> references) const {
  WordIds ids;
  std::vector<Line> lines;
  for (const std::string_view reference : references) lines.push_back(read_line(reference, config_, ids));
  const Line line = read_line(hypothesis, config_, ids);
  std::vector<double> row = {static_cast<double>(line.length), static_cast<double>(closest_length(lines, line.length))};
  row.resize(num_statistics());
  const size_t orders = line.ngrams.size();
  for (size_t n = 0; n < orders; ++n) {
    NgramCounts allowed = lines.front().ngrams[n];
    for (size_t k = 1; k < lines.size(); ++k) allowed = merge_by_maximum(allowed, lines[k].ngrams[n]);
    row[2 + n] = static_cast<double>(clipped_matches(line.ngrams[n], allowed));
    row[2 + orders + n] = static_cast<double>(total_count(line.ngrams[n]));
  }
  return row;
}

BleuScore Bleu::summarise(std::span<const double> sums) const {
  const auto orders = static_cast<ptrdiff_t>(config_.max_order);
  const auto matches = sums.begin() + 2;
  BleuScore score{.matches = {matches, matches + orders},
                  .totals = {matches + orders, matches + 2 * orders},
                  .hypothesis_length = static_cast<int64_t>(sums[0]),
                  .reference_length = static_cast<int64_t>(sums[1])};
  finish(score, config_);
  return score;
}

std::string Bleu::details(std::span<const double> sums) const {
  const BleuScore score = summarise(sums);
  std::string shown;
  for (const double precision : score.precisions) shown += fmt::format("{}{:.1f}", shown.empty() ? "" : "/", precision);
  const double ratio = score.reference_length > 0
                           ? static_cast<double>(score.hypothesis_length) / static_cast<double>(score.reference_length)
                           : 0;
  return fmt::format("{} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", shown, score.brevity_penalty, ratio,
                     score.hypothesis_length, score.reference_length);
}

nlohmann::ordered_json Bleu::figures(std::span<const double> sums) const {
  const BleuScore score = summarise(sums);
  return {{"precisions", score.precisions},
          {"matches", score.matches},
          {"totals", score.totals},
          {"brevity_penalty", score.brevity_penalty},
          {"hypothesis_length", score.hypothesis_length},
          {"reference_length", score.reference_length}};
}

std::string Bleu::warning(std::span<const std::string> hypotheses) const {
  if (config_.tokenizer == BleuTokenizer::None) return {};
  const auto tokenized =
      std::ranges::count_if(hypotheses, [](const std::string& line) { return line.ends_with(" ."); });
  if (tokenized <= kTokenizedLinesTolerated) return {};
  return fmt::format(
      "{} of {} hypotheses end in \" .\": they look tokenised. BLEU wants detokenised text; set tokenizer: none if "
      "hypotheses and references are tokenised on purpose",
      tokenized, hypotheses.size());
}

}  // namespace weft
