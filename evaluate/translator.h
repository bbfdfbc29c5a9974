#pragma once
#include "data/tokenizer/tokenizer.h"
#include "evaluate/search/search.h"
#include "job/job.h"
#include "model/transformer.h"

namespace weft {

// Prints what a model writes, while it learns.
using SampleWriter = std::function<void(Transformer& model, int64_t step)>;

// Prints what the model makes of log.generations.prompts at each temperature. Every rank decodes (a replica each), rank
// 0 prints.
SampleWriter make_sample_writer(const JobConfig& job, bool is_rank0);

// Continues texts (gpt) or translates sentences (translation) in the order given; n_best texts each.
struct Writer {
  Transformer& model;
  const JobConfig& job;
  const Tokenizer& source_tokenizer;
  const Tokenizer& target_tokenizer;

  std::vector<std::vector<Hypothesis>> write(const std::vector<std::string>& texts, const SearchConfig& search,
                                             const std::function<void(int64_t)>& on_progress = {}) const;
  // The same from source rows that preparation made.
  std::vector<std::vector<Hypothesis>> translate(std::vector<std::vector<int32_t>> sources, const SearchConfig& search,
                                                 const std::function<void(int64_t)>& on_progress = {}) const;
  std::string text(const Hypothesis& hypothesis) const;
};

}  // namespace weft
