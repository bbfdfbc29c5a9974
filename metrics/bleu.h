// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/config/fields.h"
#include "metrics/bleu_tokenizers.h"
#include "metrics/metric.h"

namespace weft {

// What replaces an n-gram precision of zero (Chen & Cherry, "A systematic comparison of smoothing techniques for
// sentence-level BLEU", WMT 2014).
enum class BleuSmoothing {
  Exp,    // NIST: the k-th order without a match counts 1 / 2^k matches
  Floor,  // smooth_value matches (0.1)
  AddK,   // smooth_value (1) added to matches and totals of every order above 1
  None,   // the score is 0
};
template <>
struct EnumNames<BleuSmoothing> {
  static constexpr auto kNames = enum_names<BleuSmoothing>("exp", "floor", "add-k", "none");
};

// BLEU of Papineni et al., "BLEU: a method for automatic evaluation of machine translation" (ACL 2002), equal to
// sacreBLEU 2 (Post, "A call for clarity in reporting BLEU scores", WMT 2018) on detokenised text.
struct BleuConfig {
  BleuTokenizer tokenizer = BleuTokenizer::Mteval13a;
  bool lowercase = false;
  BleuSmoothing smoothing = BleuSmoothing::Exp;
  std::optional<double> smooth_value;
  bool effective_order = false;
  int64_t max_order = 4;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("tokenizer", tokenizer, "How lines are cut into tokens: 13a, intl, zh, char, or none for tokenised text.");
    v.field("lowercase", lowercase, "Compare lower-cased text.");
    v.field("smoothing", smoothing, "What replaces a precision of zero.");
    v.field("smooth_value", smooth_value, "Value of floor (default 0.1) and add-k (default 1).", Range{.min = 0});
    v.field("effective_order", effective_order, "Leave out orders that the text is too short for (sentence BLEU).");
    v.field("max_order", max_order, "Longest n-gram.", Range{.min = 1, .max = 8});
  }
};

struct BleuScore {
  double score = 0;                // 0..100
  std::vector<double> precisions;  // per order, 0..100, smoothed
  std::vector<int64_t> matches;    // per order, clipped, over the corpus
  std::vector<int64_t> totals;     // per order, n-grams of the hypotheses
  double brevity_penalty = 1;
  int64_t hypothesis_length = 0;  // tokens
  int64_t reference_length = 0;   // tokens, of the closest reference of each line
  int64_t lines = 0;
  int64_t lines_tokenized = 0;  // hypotheses that end in " ."
  std::string signature;        // nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:weft-1

  // "BLEU|SIGNATURE = 41.02 70.1/47.0/33.2/23.8 (BP = 1.000 ratio = 1.005 hyp_len = 12120 ref_len = 12061)"
  std::string format() const;
  std::string details() const;  // what follows the score there
  // A sentence for the user when more than 100 hypotheses look tokenised though a tokenizer was asked for; else empty.
  std::string warning() const;
};
void to_json(nlohmann::json& json, const BleuScore& score);

// Hypotheses that end in " ." though a tokenizer is asked for, and the warning that more than 100 of them deserve.
int64_t count_tokenized(std::span<const std::string> hypotheses, BleuTokenizer tokenizer);
std::string tokenized_warning(int64_t lines_tokenized, int64_t lines);

// A line adds: tokens of the hypothesis, tokens of the closest reference, then of each order the clipped matches, then
// of each order the n-grams of the hypothesis.
class Bleu : public Metric {
 public:
  explicit Bleu(const BleuConfig& config = {}) : config_(config) {}

  std::string name() const override { return "BLEU"; }
  SignatureFields settings() const override;
  size_t num_statistics() const override { return 2 + 2 * static_cast<size_t>(config_.max_order); }
  std::vector<double> line_statistics(std::string_view hypothesis,
                                      std::span<const std::string_view> references) const override;
  double score(std::span<const double> sums) const override { return summarise(sums).score; }
  std::string details(std::span<const double> sums) const override { return summarise(sums).details(); }
  // All but the signature and the counts of lines.
  BleuScore summarise(std::span<const double> sums) const;

 private:
  BleuConfig config_;
};

// BLEU of a corpus; arguments and errors as corpus_statistics().
BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
                      const BleuConfig& config = {});

}  // namespace weft
