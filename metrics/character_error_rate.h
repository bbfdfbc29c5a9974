// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/config/fields.h"
#include "metrics/metric.h"

namespace weft {

// CER, the character error rate: the Levenshtein distance (characters inserted, deleted or substituted, each counting
// one) over the length of the references, both summed over the corpus. Lower is better; the rate exceeds 100 if edits
// outnumber the characters of the references. Characters are Unicode code points, so an accent written as a combining
// character counts separately. Equal to jiwer's `cer`, which also strips white space at both ends of a line.
struct CharacterErrorRateConfig {
  bool lowercase = false;
  bool whitespace = true;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("lowercase", lowercase, "Compare lower-cased text.");
    v.field("whitespace", whitespace, "Count white space within lines.");
  }
};

// A line adds: edits, and characters of the reference. Of several references, the one with the lowest rate counts. A
// corpus whose references are empty has a rate of 0 if the hypotheses are empty too, and 100 if not (jiwer reports
// the number of edits).
class CharacterErrorRate : public Metric {
 public:
  using Config = CharacterErrorRateConfig;
  explicit CharacterErrorRate(const Config& config = {}) : config_(config) {}

  std::string name() const override { return "CER"; }
  SignatureFields settings() const override;
  size_t num_statistics() const override { return 2; }
  std::vector<double> line_statistics(std::string_view hypothesis,
                                      std::span<const std::string_view> references) const override;
  double score(std::span<const double> sums) const override;
  std::string details(std::span<const double> sums) const override;
  nlohmann::ordered_json figures(std::span<const double> sums) const override;

 private:
  std::u32string characters_of(std::string_view line) const;

  Config config_;
};

}  // namespace weft
