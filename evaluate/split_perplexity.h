#pragma once
#include <memory>

#include "data/dataset.h"
#include "evaluate/loaded_model.h"
#include "evaluate/metrics/perplexity.h"

namespace weft {

struct PerplexityOptions {
  int64_t stride = 0;         // tokens from one window to the next (language models); 0: the context
  int64_t max_sequences = 0;  // only the first windows or pairs; 0: all. Words and bytes are then not counted
};

// Perplexity of a model on a split, the same on every rank. Collective over the mesh; beats while it runs.
PerplexityReport split_perplexity(const LoadedModel& loaded, const std::shared_ptr<const Dataset>& split,
                                  const PerplexityOptions& options);

// Words and bytes of the text that a split's target tokens stand for, so that models with other tokenizers compare.
// `beat` is called now and then.
TextSize text_size(const Dataset& split, const Tokenizer& tokenizer, const std::function<void()>& beat);

}  // namespace weft
