// SPDX-License-Identifier: Apache-2.0
#include "metrics/metric.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace weft {
namespace {

void check(const std::string& name, std::span<const std::string> hypotheses,
           std::span<const std::vector<std::string>> references) {
  require<DataError>(!hypotheses.empty(), "{}: there is no hypothesis to score", name);
  require<DataError>(!references.empty(), "{}: there is no reference to compare with", name);
  for (size_t k = 0; k < references.size(); ++k) {
    require<DataError>(references[k].size() == hypotheses.size(), "{}: reference {} has {} lines, the hypotheses {}",
                       name, k + 1, references[k].size(), hypotheses.size());
  }
}

}  // namespace

std::string format_signature(const SignatureFields& fields) {
  std::string text;
  for (const auto& [key, value] : fields) text += fmt::format("{}{}:{}", text.empty() ? "" : "|", key, value);
  return text;
}

std::string Metric::details(std::span<const double>) const { return {}; }
nlohmann::ordered_json Metric::figures(std::span<const double>) const { return nlohmann::ordered_json::object(); }
std::string Metric::warning(std::span<const std::string>) const { return {}; }

SignatureFields signature_fields(const Metric& metric, size_t num_references, const SignatureFields& more) {
  SignatureFields fields = {{"nrefs", std::to_string(num_references)}};
  fields.insert(fields.end(), more.begin(), more.end());
  const SignatureFields settings = metric.settings();
  fields.insert(fields.end(), settings.begin(), settings.end());
  fields.emplace_back("version", kMetricsVersion);
  return fields;
}

std::vector<double> LineStatistics::sums() const {
  std::vector<double> sums(columns);
  for (size_t line = 0; line < lines(); ++line) {
    for (size_t c = 0; c < columns; ++c) sums[c] += row(line)[c];
  }
  return sums;
}

LineStatistics corpus_statistics(const Metric& metric, std::span<const std::string> hypotheses,
                                 std::span<const std::vector<std::string>> references) {
  check(metric.name(), hypotheses, references);
  LineStatistics statistics{.columns = metric.num_statistics()};
  statistics.values.reserve(hypotheses.size() * statistics.columns);
  std::vector<std::string_view> of_line(references.size());
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    for (size_t k = 0; k < references.size(); ++k) of_line[k] = references[k][i];
    const std::vector<double> row = metric.line_statistics(hypotheses[i], of_line);
    statistics.values.insert(statistics.values.end(), row.begin(), row.end());
  }
  return statistics;
}

CorpusScore::CorpusScore(std::shared_ptr<const Metric> metric, std::span<const std::string> hypotheses,
                         std::span<const std::vector<std::string>> references)
    : metric_(std::move(metric)),
      sums_(corpus_statistics(*metric_, hypotheses, references).sums()),
      references_(references.size()),
      lines_(static_cast<int64_t>(hypotheses.size())) {}

std::string CorpusScore::signature() const { return format_signature(signature_fields(*metric_, references_)); }

std::string CorpusScore::format() const {
  const std::string details = metric_->details(sums_);
  return fmt::format("{}|{} = {:.2f}{}{}", metric_->name(), signature(), score(), details.empty() ? "" : " ", details);
}

void to_json(nlohmann::ordered_json& json, const CorpusScore& score) {
  json = {{"name", score.metric().name()}, {"score", score.score()}, {"signature", score.signature()}};
  json.update(score.metric().figures(score.sums()));
  json["lines"] = score.lines();
}

}  // namespace weft
