// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "evaluate/split_perplexity.h"
#include "evaluate/translation_scores.h"
#include "parallel/session.h"

namespace weft {

// A checkpoint, a split, and the options with which the checkpoint is evaluated on it.
struct EvaluateOptions {
  fs::path checkpoint;                 // a run directory (its latest checkpoint) or a checkpoint
  bool best = false;                   // use the run's checkpoint of the best evaluation
  std::vector<std::string> overrides;  // "a.b=c": fields of the job that the checkpoint holds
  ComputeOptions compute;
  std::optional<DataSplit> split;  // not set: test, or valid if there is no test
  PerplexityOptions perplexity;
  std::optional<TranslationOptions> translation;  // only for a translation model; nullopt: the defaults
};

struct EvaluationReport {
  fs::path checkpoint;
  int64_t step = 0;
  DataSplit split = DataSplit::Test;
  PerplexityReport perplexity;
  int64_t unknown = 0;  // scored tokens that are unknown to the tokenizer
  // Pairs that perplexity leaves out: they are too long for the model, or have no source.
  int64_t left_out = 0;
  DatasetHeader dataset;  // with the counts of preparation
  // If weights of another format were requested: that format, and the perplexity of the model's own weights.
  WeightFormat weights = WeightFormat::Own;
  std::optional<PerplexityReport> own_weights;
  std::optional<TranslationScores> translation;  // only for a translation model

  std::string format() const;  // one line per figure

 private:
  std::string describe_left_out() const;
};
void to_json(nlohmann::ordered_json& json, const EvaluationReport& report);

// Loads a checkpoint and evaluates it on a split of its job's dataset: perplexity, and for a translation model also the
// scores of its translations by every metric. Collective; every rank returns the same report. The session's time limits
// become those of the checkpoint's job.
// ConfigError if translation options are given for a language model or the dataset is of another kind; DataError if the
// dataset was made with tokenizers other than the checkpoint's, or if translation.output cannot be written (before
// anything takes time).
EvaluationReport evaluate_split(Session& session, const EvaluateOptions& options);

}  // namespace weft
