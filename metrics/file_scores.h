// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "metrics/bleu.h"
#include "metrics/bootstrap.h"
#include "metrics/chrf.h"
#include "metrics/ter.h"

namespace weft {

enum class ScoreMetric { Bleu, Chrf, ChrfPlusPlus, Ter };
template <>
struct EnumNames<ScoreMetric> {
  static constexpr auto kNames = enum_names<ScoreMetric>("bleu", "chrf", "chrf++", "ter");
};

struct FileScoreOptions {
  std::vector<fs::path> hypotheses;  // a system each; "-" is standard input
  std::vector<fs::path> references;
  std::vector<ScoreMetric> metrics = {ScoreMetric::Bleu};
  BleuConfig bleu;
  ChrfConfig chrf;  // chrf++ is chrf with a word_order of 2
  TerConfig ter;
  std::optional<BootstrapConfig> bootstrap;
};

// What a metric says of a system.
struct SystemScore {
  double score = 0;
  std::string details;
  std::optional<Interval> interval;  // with a bootstrap
  std::optional<double> p_value;     // of systems after the first, with a bootstrap: paired with the first

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

  // One system: a line for each metric, as sacreBLEU writes it; several: a table and the signatures.
  std::string format() const;
};
// The members of sacreBLEU's JSON, figures unrounded. One system: an object (of several metrics, a list of them).
// Several: a list of {"system", METRIC: {"score", "p_value", "mean", "ci", "signature"}, ...}.
void to_json(nlohmann::ordered_json& json, const FileScores& scores);

// Scores files of a text a line, gzipped ones too; white space at the end of lines does not count. Throws DataError
// where files cannot be read or have different counts of lines, ConfigError for metrics or files asked for twice.
FileScores score_files(const FileScoreOptions& options);

}  // namespace weft
