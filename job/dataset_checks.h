// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "data/batches/batch_plan.h"
#include "data/dataset/dataset.h"
#include "job/job.h"

namespace weft {

class Checkpoint;

// The longest sequence of `where` fits the model's positions; ConfigError that advises to raise them, or `otherwise`.
void check_longest(int64_t longest, const JobConfig& job, const std::string& where, const std::string& otherwise);

// The dataset's kind fits the task, and a shared table fits both vocabularies. ConfigError with what to change.
void check_kind(const JobConfig& job, const DatasetHeader& header);

// What only the prepared dataset shows: check_kind(), documents end if they are to be masked, and rows fit the
// positions. ConfigError or DataError with what to change.
void check_job_against(const JobConfig& job, const Dataset& dataset);

// Appends what makes another job's dataset that of this one: its directory, and what is mixed with it.
void override_dataset(const JobConfig& job, std::vector<std::string>& overrides);

// What a run evaluates of its validation split: of pairs, those that fit the model's positions.
EvaluationOptions validation_options(const JobConfig& job);

// The validation split holds something to score; DataError otherwise. Warns (if `tell`) of pairs that do not fit.
void check_validation(const JobConfig& job, const Dataset& valid, bool tell);

// If evaluation.metric is one of translations: there are pairs to translate, and the text that they are compared with.
// DataError otherwise, which begins with `place` (place_of_key). `valid`: null where the dataset has no such split.
void check_validation_text(const JobConfig& job, const Dataset* valid, const std::string& place = "");

// Both for the prepared dataset of the job, with whatever it holds for validation.
void check_held_out(const JobConfig& job, const std::string& place);

// Every prompt fits the model's positions with its answer; nothing of other datasets.
void check_answers(const JobConfig& job, const Dataset& dataset);

// The dataset's ids are those of the tokenizers that the checkpoint's weights were trained with; DataError otherwise.
void check_tokenizers(const Checkpoint& checkpoint, const DatasetHeader& header, const fs::path& dataset);
// The same for a checkpoint at `path` whose tokenizers are loaded.
void check_tokenizers(const fs::path& path, const Tokenizer& source, const Tokenizer& target,
                      const DatasetHeader& header, const fs::path& dataset);

// The dataset in job.data.directory was prepared as the job's data and tokenizer sections say, as far as that decides
// what its ids are. ConfigError naming the first key that differs, where the job file or an override says it, and both
// values. `path`, `overrides`: what the job was loaded from.
void check_prepared_as(const JobConfig& job, const std::string& path, const std::vector<std::string>& overrides);

}  // namespace weft
