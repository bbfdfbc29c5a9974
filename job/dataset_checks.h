#pragma once
#include "checkpoint/reader.h"
#include "data/batch_config.h"
#include "data/dataset.h"
#include "job/job.h"
#include "model/config.h"

namespace weft {

Vocabularies vocabularies_of(const DatasetHeader& header);

// The job's batch section with what it leaves to the model filled in (context).
BatchConfig batch_config(const JobConfig& job);

// What can be checked only with the prepared dataset: its kind fits the task, sequences fit the positions, a shared
// table fits both vocabularies. ConfigError or DataError with what to change.
void check_job_against(const JobConfig& job, const DatasetHeader& header);

// The dataset's ids are those of the tokenizers that the checkpoint's weights were trained with; DataError otherwise.
void check_tokenizers(const Checkpoint& checkpoint, const DatasetHeader& header, const fs::path& dataset);

}  // namespace weft
