// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/config/fields.h"
#include "metrics/metric.h"

namespace weft {

// chrF (Popović, "chrF: character n-gram F-score for automatic MT evaluation", WMT 2015); with word_order 2 it is
// chrF++ (Popović, "chrF++: words helping character n-grams", WMT 2017). Equal to sacreBLEU 2.
struct ChrfConfig {
  int64_t char_order = 6;
  int64_t word_order = 0;
  int64_t beta = 2;  // recall counts beta^2 times as much as precision
  bool lowercase = false;
  bool whitespace = false;
  bool eps_smoothing = false;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("char_order", char_order, "Longest n-gram of characters.", Range{.min = 1, .max = 8});
    v.field("word_order", word_order, "Longest n-gram of words: 0 is chrF, 2 is chrF++.", Range{.min = 0, .max = 8});
    v.field("beta", beta, "Recall counts beta^2 times as much as precision.", Range{.min = 1});
    v.field("lowercase", lowercase, "Compare lower-cased text.");
    v.field("whitespace", whitespace, "Keep white space in character n-grams.");
    v.field("eps_smoothing", eps_smoothing, "Average F-scores over all orders (NLTK, Moses) and not only those met.");
  }
};

// A line adds, for each order of characters and then of words: n-grams of hypothesis and reference, and matches.
// Of several references, the one with the best F-score counts.
class Chrf : public Metric {
 public:
  using Config = ChrfConfig;
  explicit Chrf(const ChrfConfig& config = {}) : config_(config) {}

  std::string name() const override;
  SignatureFields settings() const override;
  size_t num_statistics() const override { return 3 * static_cast<size_t>(config_.char_order + config_.word_order); }
  std::vector<double> line_statistics(std::string_view hypothesis,
                                      std::span<const std::string_view> references) const override;
  double score(std::span<const double> sums) const override;

 private:
  ChrfConfig config_;
};

}  // namespace weft
