// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "metrics/bootstrap.h"
#include "metrics/metric.h"

namespace weft {

struct FileScoreOptions {
  std::vector<fs::path> hypotheses;  // one file per system; "-" is standard input
  std::vector<fs::path> references;
  std::vector<std::shared_ptr<const Metric>> metrics;
  std::optional<BootstrapConfig> bootstrap;
};

// One metric's figures for one system.
struct SystemScore {
  double score = 0;
  std::string details;
  std::optional<Interval> interval;  // present with a bootstrap
  std::optional<double> p_value;     // present with a bootstrap, for systems after the first: compared with the first

  std::string format() const;  // "41.02 (μ = 41.05 ± 1.20)"
};

struct MetricScores {
  std::string name;
  SignatureFields signature;
  std::vector<SystemScore> systems;
};

struct FileScores {
  std::vector<std::string> systems;
  std::vector<MetricScores> metrics;
  std::vector<std::string> warnings;
  bool paired = false;

  // One system has a line for each metric, as sacreBLEU writes it; several have a table and the signatures.
  std::string format() const;
};
// The members of sacreBLEU's JSON, with unrounded figures: for one system an object (for several metrics a list), for
// several systems a list of {"system", METRIC: {"score", "p_value", "mean", "ci", "signature"}, ...}.
void to_json(nlohmann::ordered_json& json, const FileScores& scores);

// Scores files with one text per line, gzipped or not; white space at the end of lines does not count. Throws DataError
// if files cannot be read or have different counts of lines, ConfigError if a metric or standard input is named twice.
FileScores score_files(const FileScoreOptions& options);

}  // namespace weft
