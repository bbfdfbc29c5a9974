// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "base/files.h"

namespace weft {

// The checkpoints that a user's paths stand for. A path is a checkpoint, or a run directory, which stands for its last
// `last_epochs` end-of-epoch checkpoints (0: all its checkpoints). DataError if there is no checkpoint at a path.
std::vector<fs::path> checkpoints_to_average(const std::vector<fs::path>& paths, int64_t last_epochs);

// Writes a checkpoint with the mean of the master weights (summed in f64) and the manifest of the last one. It holds no
// optimizer state. DataError if tensors or shapes differ.
void average_checkpoints(const std::vector<fs::path>& paths, const fs::path& out);

}  // namespace weft
