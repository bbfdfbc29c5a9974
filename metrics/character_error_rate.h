// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/config/fields.h"
#include "metrics/metric.h"

namespace weft {

// CER, the character error rate: the Levenshtein distance (characters inserted, deleted or substituted, each counting
// one) over the length of the references, both summed over the corpus. Lower is better; a hypothesis much longer than
// its reference has more than 100. Characters are Unicode code points, so an accent that is written as a combining
// character counts on its own. Equal to jiwer's `cer`, which strips white space at both ends of a line too.
struct CharacterErrorRateConfig {
  bool lowercase = false;
  bool whitespace = true;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("lowercase", lowercase, "Compare lower-cased text.");
    v.field("whitespace", whitespace, "Count white space within lines.");
  }
};

// A line adds: edits, and characters of the reference. Of several references it counts the one with the lowest rate. A
// corpus whose references are empty has a rate of 0 if the hypotheses are empty too, else of 100 (jiwer gives
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
