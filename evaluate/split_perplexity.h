// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>

#include "data/batches/batch_plan.h"
#include "data/dataset/dataset.h"
#include "data/text/text_size.h"
#include "job/loaded_model.h"
#include "metrics/perplexity.h"

namespace weft {

struct PerplexityOptions {
  int64_t stride = 0;         // tokens from one window to the next (language models); 0: the context
  int64_t max_sequences = 0;  // score only the first windows or pairs; 0: all
};

struct SplitPerplexity {
  PerplexityReport report;  // words and bytes are 0 if a scored token is unknown: its text is lost
  int64_t unknown = 0;      // scored tokens that are unknown to the tokenizer
  int64_t left_out = 0;     // pairs that are too long for the model, or have no source
};

// Perplexity of a model on a split, the same on every rank. Collective over the mesh; beats while it runs. Pairs that
// do not fit the model are left out and counted; DataError if no pair fits.
SplitPerplexity split_perplexity(const LoadedModel& loaded, const std::shared_ptr<const Dataset>& split,
                                 const PerplexityOptions& options);

// Words and bytes of the text that scored tokens encode, so that models with different tokenizers can be compared.
struct ScoredText {
  TextSize size;
  int64_t unknown = 0;  // scored tokens that are unknown to the tokenizer
};
// The text that make_evaluation_plan() scores with the same options. `beat` is called once per step of the plan.
ScoredText scored_text(const Dataset& split, const Tokenizer& tokenizer, const EvaluationOptions& options,
                       const std::function<void()>& beat);

}  // namespace weft
