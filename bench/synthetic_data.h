// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "data/batches/batch_plan.h"
#include "data/batches/loader.h"
#include "job/job.h"
#include "model/config.h"

namespace weft {

// Data for measuring a job's steps: the real batch plan over sequences of random tokens, whose lengths are those of
// the job's prepared dataset if there is one.
struct SyntheticData {
  std::shared_ptr<const BatchPlan> plan;
  std::shared_ptr<const SequenceReader> reader;
  Vocabularies vocabularies;
  std::string lengths;  // the source of the sequence lengths, in words
};

struct SyntheticOptions {
  int64_t vocabulary = 0;  // of both sides; 0: the dataset's, or what the tokenizer section states
  fs::path lengths;        // translation: a file with a pair a line, "SOURCE_TOKENS TARGET_TOKENS", where target tokens
                           // are those to be predicted; empty: the dataset's, or four dice
};

// Without dataset and file, the source of a pair is as long as four dice show (4 to 24 tokens, 14 on average: image
// captions have 12 to 13 words), the target up to two tokens shorter or longer and one more for its end.
// ConfigError if the vocabulary is not known or rows do not fit model.max_length; DataError for a bad file.
SyntheticData make_synthetic_data(const JobConfig& job, const SyntheticOptions& options);

// Tokens drawn uniformly from the vocabularies: a function of (seed, sequence, place) alone.
std::shared_ptr<const SequenceReader> make_random_reader(const Vocabularies& vocabularies, uint64_t seed);

}  // namespace weft
