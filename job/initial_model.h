// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/config/value.h"
#include "base/files.h"
#include "job/job.h"

namespace weft {

// The checkpoint that train.init_from means: itself, or the latest of a run's directory. Its checksums are compared
// when its weights are read. DataError if there is none.
fs::path initial_checkpoint(const fs::path& init_from);

// `job` as `tree` says it, with what it leaves to the checkpoint that it begins from (train.init_from): task, model and
// tokenizer. ConfigError naming every key that contradicts it; dropout and the way weights are drawn are the job's own.
// If that checkpoint is gone, but the job's run has checkpoints, these know the same.
JobConfig with_initial_model(const JobConfig& job, const ConfigValue& tree);

}  // namespace weft
