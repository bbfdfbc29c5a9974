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

// A metric by its name in the table.
struct NamedMetric {
  std::string name;
  std::shared_ptr<const Metric> metric;
};
// The whole table, each with the settings of its option.
std::vector<NamedMetric> every_metric(const MetricSettings& settings = {});

struct TranslationOptions {
  SearchConfig search;
  std::vector<NamedMetric> metrics = every_metric();
  fs::path output;  // file for the translations, a line each; empty: none
};

struct NamedScore {
  std::string name;  // of the metric in the table
  CorpusScore score;
};

struct TranslationScores {
  std::vector<NamedScore> scores;  // by options.metrics, in their order
  int64_t pairs = 0;
  int64_t cut_sources = 0;  // longer than the model's positions: translated up to there
  // The references are text as the file had it; false: made of tokens, since the dataset has none (version 1, train).
  bool raw_references = true;

  const CorpusScore& of(std::string_view metric) const;  // InternalError if it was not asked for
};

// Sources of a split, cut to a model's `max_length` positions.
struct SplitSources {
  std::vector<std::vector<int32_t>> rows;
  int64_t cut = 0;  // sources that were longer
};
// The sources of pairs first, ..., last - 1; an empty row for a source without text.
SplitSources read_sources(const Dataset& split, int64_t first, int64_t last, int64_t max_length);
// The targets of the first pairs: as the file had them, or made of tokens if the dataset has no such text.
std::vector<std::string> read_references(const Dataset& split, const Tokenizer& tokenizer, int64_t pairs);

// Translates the first `pairs` pairs of a split and scores the translations against the text of its targets. A source
// that is too long for the model is cut, an empty one has an empty translation: every pair is scored, and has a line of
// options.output (line ends within a translation become spaces). Collective over the mesh; rank 0 writes the file.
TranslationScores score_translations(const LoadedModel& loaded, const Dataset& split, int64_t pairs,
                                     const TranslationOptions& options);

}  // namespace weft
