// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/config/fields.h"
#include "metrics/bleu_tokenizers.h"
#include "metrics/metric.h"

namespace weft {

// The value that replaces an n-gram precision of zero (Chen & Cherry, "A systematic comparison of smoothing techniques
// for sentence-level BLEU", WMT 2014).
enum class BleuSmoothing {
  Exp,    // NIST: the k-th order without a match counts 1 / 2^k matches
  Floor,  // an order without a match counts smooth_value matches (0.1)
  AddK,   // smooth_value (1) is added to matches and totals of every order above 1
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

// The BLEU of a corpus, from the sums over its lines.
struct BleuScore {
  double score = 0;                // 0..100
  std::vector<double> precisions;  // per order, 0..100, smoothed
  std::vector<int64_t> matches;    // per order, clipped, summed over the corpus
  std::vector<int64_t> totals;     // per order: the number of n-grams in the hypotheses
  double brevity_penalty = 1;
  int64_t hypothesis_length = 0;  // tokens
  int64_t reference_length = 0;   // tokens in the closest reference of each line
};

// A line adds: tokens of the hypothesis, tokens of the closest reference, then the clipped matches of each order, then
// the number of the hypothesis's n-grams of each order.
class Bleu : public Metric {
 public:
  using Config = BleuConfig;
  explicit Bleu(const BleuConfig& config = {}) : config_(config) {}

  std::string name() const override { return "BLEU"; }
  SignatureFields settings() const override;
  size_t num_statistics() const override { return 2 + 2 * static_cast<size_t>(config_.max_order); }
  std::vector<double> line_statistics(std::string_view hypothesis,
                                      std::span<const std::string_view> references) const override;
  double score(std::span<const double> sums) const override { return summarise(sums).score; }
  std::string details(std::span<const double> sums) const override;
  nlohmann::ordered_json figures(std::span<const double> sums) const override;
  // A warning if more than 100 hypotheses end in " ." and the lines are to be tokenized; "" if not.
  std::string warning(std::span<const std::string> hypotheses) const override;
  BleuScore summarise(std::span<const double> sums) const;

 private:
  BleuConfig config_;
};

}  // namespace weft
