// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/utf8.h"
#include "metrics/file_scores.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

std::string confidence(const Interval& interval) {
  return fmt::format("μ = {:.2f} ± {:.2f}", interval.mean, interval.half_width);
}

// Each column is as wide as its widest cell, counted in characters.
std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  const auto width = [](const std::string& cell) { return decode_utf8(cell).size(); };
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) line += row[c] + std::string(widths[c] - width(row[c]) + 2, ' ');
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string system_name(const FileScores& scores, size_t s) {
  return (scores.paired && s == 0 ? "Baseline: " : "") + scores.systems[s];
}

Json metric_json(const MetricScores& metric) {
  const SystemScore& system = metric.systems[0];
  Json json = {{"name", metric.name}, {"score", system.score}, {"signature", format_signature(metric.signature)}};
  if (system.interval) {
    json["confidence_mean"] = system.interval->mean;
    json["confidence_var"] = system.interval->half_width;
    json["confidence"] = confidence(*system.interval);
  }
  if (!system.details.empty()) json["verbose_score"] = system.details;
  for (const auto& [key, value] : metric.signature) json[key] = value;
  return json;
}

Json system_json(const FileScores& scores, size_t s) {
  Json json = {{"system", system_name(scores, s)}};
  for (const MetricScores& metric : scores.metrics) {
    const SystemScore& system = metric.systems[s];
    Json figures = {{"score", system.score}, {"p_value", nullptr}, {"mean", nullptr}, {"ci", nullptr}};
    if (system.p_value) figures["p_value"] = *system.p_value;
    if (system.interval) {
      figures["mean"] = system.interval->mean;
      figures["ci"] = system.interval->half_width;
    }
    figures["signature"] = format_signature(metric.signature);
    json[metric.name] = figures;
  }
  return json;
}

std::string format_one(const FileScores& scores) {
  std::string text;
  for (const MetricScores& metric : scores.metrics) {
    const SystemScore& system = metric.systems[0];
    text += fmt::format("{}|{} = {}{}{}\n", metric.name, format_signature(metric.signature), system.format(),
                        system.details.empty() ? "" : " ", system.details);
  }
  return text;
}

std::string format_several(const FileScores& scores) {
  std::vector<std::vector<std::string>> rows = {{"system"}};
  for (const MetricScores& metric : scores.metrics) rows[0].push_back(metric.name);
  for (size_t s = 0; s < scores.systems.size(); ++s) {
    rows.push_back({system_name(scores, s)});
    for (const MetricScores& metric : scores.metrics) rows.back().push_back(metric.systems[s].format());
  }
  std::string text = format_table(rows) + "\n";
  for (const MetricScores& metric : scores.metrics) {
    text += fmt::format("{}|{}\n", metric.name, format_signature(metric.signature));
  }
  if (scores.paired) {
    text += "p: how often chance alone would part a system from the baseline as far (paired bootstrap); * below 0.05\n";
  }
  return text;
}

}  // namespace

std::string SystemScore::format() const {
  std::string text = fmt::format("{:.2f}", score);
  if (interval) text += fmt::format(" ({})", confidence(*interval));
  if (p_value) text += fmt::format(" (p = {:.4f}){}", *p_value, *p_value < 0.05 ? "*" : "");
  return text;
}

std::string FileScores::format() const { return systems.size() == 1 ? format_one(*this) : format_several(*this); }

void to_json(nlohmann::ordered_json& json, const FileScores& scores) {
  if (scores.systems.size() == 1 && scores.metrics.size() == 1) {
    json = metric_json(scores.metrics[0]);
    return;
  }
  json = Json::array();
  if (scores.systems.size() == 1) {
    for (const MetricScores& metric : scores.metrics) json.push_back(metric_json(metric));
  } else {
    for (size_t s = 0; s < scores.systems.size(); ++s) json.push_back(system_json(scores, s));
  }
}

}  // namespace weft
