// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/files.h"

namespace weft {

// Counts, in RUN/restarts.json, the restarts in a row that began at the same step: a scheduler must not restart forever
// a run that dies at the same place each time. Throws NoProgressError once there are more than `most`
// (train.max_restarts; 0: nothing is counted). Rank 0, which owns the directory, calls it before the first step.
void count_restart(const fs::path& directory, int64_t step, int64_t most);

}  // namespace weft
