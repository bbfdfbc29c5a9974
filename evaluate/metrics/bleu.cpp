#include "evaluate/metrics/bleu.h"

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/tokenizer/unicode_properties.h"
#include "data/tokenizer/utf8.h"
#include "evaluate/metrics/ngrams.h"

namespace weft {
namespace {

constexpr int64_t kTokenizedLinesTolerated = 100;

double smooth_value(const BleuConfig& config) {
  return config.smooth_value.value_or(config.smoothing == BleuSmoothing::Floor ? 0.1 : 1.0);
}

std::string signature(const BleuConfig& config, size_t num_references) {
  std::string smooth(enum_name(config.smoothing));
  if (config.smoothing == BleuSmoothing::Floor || config.smoothing == BleuSmoothing::AddK) {
    smooth += fmt::format("[{:.2f}]", smooth_value(config));
  }
  return fmt::format("nrefs:{}|case:{}|eff:{}|tok:{}|smooth:{}|version:{}", num_references,
                     config.lowercase ? "lc" : "mixed", config.effective_order ? "yes" : "no",
                     enum_name(config.tokenizer), smooth, kMetricsVersion);
}

// One line of text: its length in tokens and its n-grams of every order.
struct Line {
  int64_t length = 0;
  std::vector<NgramCounts> ngrams;
};

Line read_line(const std::string& text, const BleuConfig& config, WordIds& ids) {
  std::u32string characters = decode_utf8(text);
  if (config.lowercase) characters = to_lower(characters);
  const std::vector<uint32_t> tokens = ids(tokenize_for_bleu(config.tokenizer, characters));
  Line line{.length = static_cast<int64_t>(tokens.size())};
  for (int order = 1; order <= config.max_order; ++order) line.ngrams.push_back(count_ngrams(tokens, order));
  return line;
}

// Of several reference lengths the closest to the hypothesis's counts; of two as close, the shorter.
bool closer(int64_t length, int64_t than, int64_t to) {
  const int64_t a = std::abs(length - to), b = std::abs(than - to);
  return a < b || (a == b && length < than);
}

void add_line(BleuScore& sums, const Line& hypothesis, const std::vector<Line>& references) {
  int64_t closest = references.front().length;
  for (const Line& reference : references) {
    if (closer(reference.length, closest, hypothesis.length)) closest = reference.length;
  }
  sums.hypothesis_length += hypothesis.length;
  sums.reference_length += closest;
  for (size_t n = 0; n < hypothesis.ngrams.size(); ++n) {
    NgramCounts allowed = references.front().ngrams[n];
    for (size_t k = 1; k < references.size(); ++k) allowed = merge_by_maximum(allowed, references[k].ngrams[n]);
    sums.matches[n] += clipped_matches(hypothesis.ngrams[n], allowed);
    sums.totals[n] += total_count(hypothesis.ngrams[n]);
  }
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

void check(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references) {
  require<DataError>(!hypotheses.empty(), "BLEU: there is no hypothesis to score");
  require<DataError>(!references.empty(), "BLEU: there is no reference to compare with");
  for (size_t k = 0; k < references.size(); ++k) {
    require<DataError>(references[k].size() == hypotheses.size(), "BLEU: reference {} has {} lines, the hypotheses {}",
                       k + 1, references[k].size(), hypotheses.size());
  }
}

}  // namespace

BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
                      const BleuConfig& config) {
  check(hypotheses, references);
  BleuScore sums;
  sums.matches.assign(config.max_order, 0);
  sums.totals.assign(config.max_order, 0);
  sums.lines = static_cast<int64_t>(hypotheses.size());
  sums.signature = signature(config, references.size());
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    WordIds ids;
    std::vector<Line> lines;
    for (const auto& stream : references) lines.push_back(read_line(stream[i], config, ids));
    add_line(sums, read_line(hypotheses[i], config, ids), lines);
    sums.lines_tokenized += config.tokenizer != BleuTokenizer::None && hypotheses[i].ends_with(" .");
  }
  finish(sums, config);
  return sums;
}

std::string BleuScore::format() const {
  std::string shown;
  for (const double precision : precisions) shown += fmt::format("{}{:.1f}", shown.empty() ? "" : "/", precision);
  const double ratio =
      reference_length > 0 ? static_cast<double>(hypothesis_length) / static_cast<double>(reference_length) : 0;
  return fmt::format("BLEU|{} = {:.2f} {} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", signature, score,
                     shown, brevity_penalty, ratio, hypothesis_length, reference_length);
}

std::string BleuScore::warning() const {
  if (lines_tokenized <= kTokenizedLinesTolerated) return {};
  return fmt::format(
      "{} of {} hypotheses end in \" .\": they look tokenised. BLEU wants detokenised text; set tokenizer: none if "
      "hypotheses and references are tokenised on purpose",
      lines_tokenized, lines);
}

void to_json(nlohmann::json& json, const BleuScore& score) {
  json = {{"name", "BLEU"},
          {"score", score.score},
          {"signature", score.signature},
          {"precisions", score.precisions},
          {"matches", score.matches},
          {"totals", score.totals},
          {"brevity_penalty", score.brevity_penalty},
          {"hypothesis_length", score.hypothesis_length},
          {"reference_length", score.reference_length},
          {"lines", score.lines}};
}

}  // namespace weft
