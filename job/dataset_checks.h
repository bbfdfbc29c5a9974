// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "data/batches/batch_plan.h"
#include "data/dataset/dataset.h"
#include "job/job.h"

namespace weft {

class Checkpoint;

// Throws ConfigError if the longest sequence of `where` exceeds the positions. Its hint: raise them, or `alternative`.
void check_longest(int64_t longest, const JobConfig& job, const std::string& where, const std::string& alternative);

// Checks that the dataset's kind fits the task. ConfigError with what to change.
void check_kind(const JobConfig& job, const DatasetHeader& header);

// Checks what only the prepared dataset shows: check_kind(), that a shared table serves both vocabularies, that
// documents have ends if they are to be masked, that rows fit the positions. ConfigError or DataError with what to do.
void check_job_against(const JobConfig& job, const Dataset& dataset);

// Appends the overrides that give another job this job's dataset: its directory and its mixture.
void override_dataset(const JobConfig& job, std::vector<std::string>& overrides);

// The options with which a run evaluates its validation split: of pairs, it scores those that fit the positions.
EvaluationOptions validation_options(const JobConfig& job);

// Throws DataError if the validation split holds nothing to score. Warns (if `tell`) of pairs that do not fit.
void check_validation(const JobConfig& job, const Dataset& valid, bool tell);

// If evaluation.metric is a metric of translations, checks that there are pairs to translate and that the text of their
// targets is kept. DataError if not; it begins with `place` (place_of_key). `valid`: null if there is no such split.
void check_validation_text(const JobConfig& job, const Dataset* valid, const std::string& place = "");

// check_validation_text() and check_validation() for the job's prepared dataset, which may have no validation split.
void check_held_out(const JobConfig& job, const std::string& place);

// Checks that every prompt with its answer fits the model's positions; does nothing for other datasets.
void check_answers(const JobConfig& job, const Dataset& dataset);

// Throws DataError unless the dataset's ids are those of the tokenizers that the checkpoint's weights were trained on.
void check_tokenizers(const Checkpoint& checkpoint, const DatasetHeader& header, const fs::path& dataset);
// Checks the tokenizers of a checkpoint at `path` that are loaded already.
void check_tokenizers(const fs::path& path, const Tokenizer& source, const Tokenizer& target,
                      const DatasetHeader& header, const fs::path& dataset);

// Checks that the dataset in job.data.directory was prepared as the job's data and tokenizer sections say, as far as
// they decide its ids. ConfigError naming the first key that differs, where the job file or an override sets it, and
// both values. `path`, `overrides`: the arguments with which the job was loaded.
void check_prepared_as(const JobConfig& job, const std::string& path, const std::vector<std::string>& overrides);

}  // namespace weft
