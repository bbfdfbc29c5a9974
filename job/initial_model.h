// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/config/value.h"
#include "base/files.h"
#include "job/job.h"

namespace weft {

// The checkpoint that train.init_from names: the path itself, or the latest one of a run directory. Its checksums are
// compared when its weights are read. DataError if there is no checkpoint.
fs::path initial_checkpoint(const fs::path& init_from);

// The job of `tree`, with what it leaves to the checkpoint that it begins from (train.init_from): task, model and
// tokenizer. ConfigError naming every key that contradicts it; dropout and the way weights are drawn are the job's own.
// If that checkpoint is gone, the latest checkpoint of the job's own run, if any, supplies what is left out.
JobConfig with_initial_model(const JobConfig& job, const ConfigValue& tree);

}  // namespace weft
