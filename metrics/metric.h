// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

// The version in signatures, which is raised whenever a figure could change.
constexpr const char* kMetricsVersion = "weft-1";

// The fields of a signature in their order: {"case", "mixed"}, {"tok", "13a"}, ...
using SignatureFields = std::vector<std::pair<std::string, std::string>>;
// "case:mixed|tok:13a"
std::string format_signature(const SignatureFields& fields);

// A figure of a corpus that is a function of sums over its lines. A line's contribution does not depend on the other
// lines, so the figure of any selection of lines is computed by adding, without reading a text again.
class Metric {
 public:
  virtual ~Metric() = default;

  virtual std::string name() const = 0;  // the name in reports: BLEU, chrF2++
  virtual SignatureFields settings() const = 0;
  virtual size_t num_statistics() const = 0;
  // The num_statistics() values that one line adds to the sums. There is at least one reference.
  virtual std::vector<double> line_statistics(std::string_view hypothesis,
                                              std::span<const std::string_view> references) const = 0;
  virtual double score(std::span<const double> sums) const = 0;  // 0..100; an error rate may exceed 100
  // The parts of the score: as text for reports, "70.1/47.0/33.2/23.8 (BP = ...)", and as members of a JSON object.
  // Both are empty if there is nothing but the score.
  virtual std::string details(std::span<const double> sums) const;
  virtual nlohmann::ordered_json figures(std::span<const double> sums) const;
  // A sentence for the user if the metric is not made for texts such as these hypotheses; else empty.
  virtual std::string warning(std::span<const std::string> hypotheses) const;
};

// Number of references, the metric's settings and the version, all of which must be known to compare two figures. The
// fields of `more` come after the number of references.
SignatureFields signature_fields(const Metric& metric, size_t num_references, const SignatureFields& more = {});

// The statistics of a corpus, one row per line.
struct LineStatistics {
  size_t columns = 0;
  std::vector<double> values;  // [lines, columns]

  size_t lines() const { return columns == 0 ? 0 : values.size() / columns; }
  std::span<const double> row(size_t line) const { return std::span(values).subspan(line * columns, columns); }
  std::vector<double> sums() const;
};

// references[k][i] is the k-th reference of hypotheses[i]; every list has one line per hypothesis. Throws DataError
// when line counts differ (naming both) or there is nothing to score.
LineStatistics corpus_statistics(const Metric& metric, std::span<const std::string> hypotheses,
                                 std::span<const std::vector<std::string>> references);

// A metric's figure for a corpus, with its parts.
class CorpusScore {
 public:
  // Takes the arguments and throws the errors of corpus_statistics().
  CorpusScore(std::shared_ptr<const Metric> metric, std::span<const std::string> hypotheses,
              std::span<const std::vector<std::string>> references);

  const Metric& metric() const { return *metric_; }
  std::span<const double> sums() const { return sums_; }
  int64_t lines() const { return lines_; }
  double score() const { return metric_->score(sums_); }
  std::string signature() const;  // nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:weft-1
  // "BLEU|SIGNATURE = 41.02 70.1/47.0/33.2/23.8 (BP = 1.000 ratio = 1.005 hyp_len = 12120 ref_len = 12061)"
  std::string format() const;

 private:
  std::shared_ptr<const Metric> metric_;
  std::vector<double> sums_;
  size_t references_;
  int64_t lines_;
};
void to_json(nlohmann::ordered_json& json, const CorpusScore& score);

}  // namespace weft
