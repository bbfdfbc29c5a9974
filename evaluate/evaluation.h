#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "evaluate/split_perplexity.h"
#include "evaluate/translation_scores.h"
#include "parallel/session.h"

namespace weft {

// What to evaluate, and how.
struct EvaluateOptions {
  fs::path checkpoint;                 // a run directory (its latest checkpoint) or a checkpoint
  bool best = false;                   // of a run directory, the checkpoint with the lowest validation loss
  std::vector<std::string> overrides;  // "a.b=c": fields of the job that the checkpoint holds
  ComputeOptions compute;
  std::string split = "test";
  PerplexityOptions perplexity;
  std::optional<TranslationOptions> translation;  // only for translation; nothing: as SearchConfig and BleuConfig begin
};

struct EvaluationReport {
  fs::path checkpoint;
  int64_t step = 0;
  std::string split;
  PerplexityReport perplexity;
  // Where weights of another format were asked for: which, and the perplexity of the model's own.
  WeightFormat weights = WeightFormat::Own;
  std::optional<PerplexityReport> own_weights;
  std::optional<TranslationScores> translation;  // of a translation model

  std::string format() const;  // a line for each figure
};
void to_json(nlohmann::ordered_json& json, const EvaluationReport& report);

// Loads a checkpoint and evaluates it on a split of its job's dataset: perplexity; of a translation model also BLEU and
// chrF of what the search finds. Collective; the same report on every rank but for the baselines. The session's time
// limits become those of the checkpoint's job.
// ConfigError if translation options are given for a language model; DataError if the dataset was made with another
// tokenizer than the checkpoint, or if nothing can be written to translation.output (before anything takes time).
EvaluationReport evaluate_split(Session& session, const EvaluateOptions& options);

}  // namespace weft
