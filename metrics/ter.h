// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/config/fields.h"
#include "metrics/metric.h"

namespace weft {

// TER, the translation edit rate (Snover et al., "A study of translation edit rate with targeted human annotation",
// AMTA 2006): insertions, deletions, substitutions and shifts of whole phrases, over the words of the reference. Lower
// is better. Equal to sacreBLEU 2, whose names the settings have.
struct TerConfig {
  bool normalized = false;
  bool no_punct = false;
  bool asian_support = false;
  bool case_sensitive = false;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("normalized", normalized, "Split punctuation off and replace &quot; and the like, as Tercom -N.");
    v.field("no_punct", no_punct, "Leave punctuation out, as Tercom -P.");
    v.field("asian_support", asian_support,
            "With normalized, cut ideographs apart; with no_punct, leave CJK punctuation out.");
    v.field("case_sensitive", case_sensitive, "Compare text as it is and not lower-cased.");
  }
};

// A line adds: the fewest edits to any of its references, and the mean length of its references in words.
class Ter : public Metric {
 public:
  using Config = TerConfig;
  explicit Ter(const TerConfig& config = {}) : config_(config) {}

  std::string name() const override { return "TER"; }
  SignatureFields settings() const override;
  size_t num_statistics() const override { return 2; }
  std::vector<double> line_statistics(std::string_view hypothesis,
                                      std::span<const std::string_view> references) const override;
  double score(std::span<const double> sums) const override;

 private:
  TerConfig config_;
};

}  // namespace weft
