#pragma once
#include <cstdint>
#include <vector>

#include "base/files.h"

namespace weft {

// The checkpoints that a user's paths name: each a checkpoint, or a run directory whose last `last_epochs`
// checkpoints of an epoch's end (0: all checkpoints) are meant. DataError where there are none.
std::vector<fs::path> checkpoints_to_average(const std::vector<fs::path>& paths, int64_t last_epochs);

// Writes a checkpoint with the mean of the master weights (summed in f64), the rest of the manifest from the last
// one. It holds no optimizer state. DataError where tensors or shapes differ.
void average_checkpoints(const std::vector<fs::path>& paths, const fs::path& out);

}  // namespace weft
