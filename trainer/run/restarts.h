// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/files.h"

namespace weft {

// Counts, in RUN/restarts.json, the restarts in a row that began at no later step: a scheduler must not restart forever
// a run that dies at the same place each time. A start that was `told` where to begin may begin at an earlier step.
// Throws NoProgressError once there are more than `most` (train.max_restarts; 0: nothing is counted). Rank 0, which
// owns the directory, calls it before the first step.
void count_restart(const fs::path& directory, int64_t step, bool told, int64_t most);

}  // namespace weft
