#pragma once
#include "checkpoint/reader.h"
#include "data/dataset.h"
#include "job/job.h"

namespace weft {

// The longest sequence of `where` fits the model's positions; ConfigError that advises to raise them, or `otherwise`.
void check_longest(int64_t longest, const JobConfig& job, const std::string& where, const std::string& otherwise);

// What only the prepared dataset shows: its kind fits the task, rows fit the positions, a shared table fits both
// vocabularies. ConfigError or DataError with what to change.
void check_job_against(const JobConfig& job, const DatasetHeader& header);

// Every prompt fits the model's positions with its answer; nothing of other datasets.
void check_answers(const JobConfig& job, const Dataset& dataset);

// The dataset's ids are those of the tokenizers that the checkpoint's weights were trained with; DataError otherwise.
void check_tokenizers(const Checkpoint& checkpoint, const DatasetHeader& header, const fs::path& dataset);

}  // namespace weft
