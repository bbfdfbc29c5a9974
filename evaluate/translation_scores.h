// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "generate/search/config.h"
#include "generate/text_generator.h"
#include "job/loaded_model.h"
#include "metrics/metric_table.h"

namespace weft {

// A metric with its name in the table.
struct NamedMetric {
  std::string name;
  std::shared_ptr<const Metric> metric;
};
// Every metric of the table, each with the settings of its option.
std::vector<NamedMetric> every_metric(const MetricSettings& settings = {});

struct TranslationOptions {
  SearchConfig search;
  std::vector<NamedMetric> metrics = every_metric();
  fs::path output;  // file for the translations, one per line; empty: no file
};

struct NamedScore {
  std::string name;  // the metric's name in the table
  CorpusScore score;
};

struct TranslationScores {
  std::vector<NamedScore> scores;  // one for each of options.metrics, in their order
  int64_t pairs = 0;
  int64_t cut_sources = 0;  // sources longer than the model's positions, translated up to there
  // Whether references are text as the file had it, and not decoded tokens, as for a dataset without text (version 1).
  bool raw_references = true;

  const CorpusScore& of(std::string_view metric) const;  // InternalError if the metric was not requested
};

// Sources of a split, cut to a model's `max_length` positions.
struct SplitSources {
  std::vector<std::vector<int32_t>> rows;
  int64_t cut = 0;  // sources that were longer
};
// The sources of pairs first, ..., last - 1; an empty row for a source without text.
SplitSources read_sources(const Dataset& split, int64_t first, int64_t last, int64_t max_length);
// The targets of the first pairs: as the file had them, or decoded from tokens if the dataset has no such text.
std::vector<std::string> read_references(const Dataset& split, const Tokenizer& tokenizer, int64_t pairs);

// Translates the first `pairs` pairs of a split and scores the translations against the text of its targets. A source
// that is too long for the model is cut, an empty source has an empty translation: every pair is scored, and has a line
// in options.output (line ends within a translation become spaces). Collective over the mesh; rank 0 writes the file.
TranslationScores score_translations(const LoadedModel& loaded, const Dataset& split, int64_t pairs,
                                     const TranslationOptions& options);

}  // namespace weft
