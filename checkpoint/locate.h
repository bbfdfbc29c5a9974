// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "base/files.h"

// Finds the checkpoints that a user's path stands for: a committed checkpoint stands for itself, a run directory for
// the checkpoints in its folder `checkpoints`. A directory without that folder is taken for the folder itself.
namespace weft {

fs::path checkpoints_folder(const fs::path& run);  // RUN/checkpoints
// True if `path` has a folder of checkpoints and is not a checkpoint.
bool is_run_directory(const fs::path& path);

// All checkpoints that `path` stands for, in the order of saves. Their tensors are not read.
std::vector<fs::path> checkpoints_at(const fs::path& path);

// The newest checkpoint that `path` stands for, which may be damaged. If there is none, a DataError that begins with
// `key` (a key of the job; "" for none) and says what is there instead.
fs::path newest_checkpoint(const fs::path& path, std::string_view key = "");

// The newest checkpoint whose every array is intact, or with `best` the checkpoint of the run's best evaluation. If
// `path` is a checkpoint, it is returned unread. DataError if there is none. `on_progress` is called during checks.
fs::path resolve_checkpoint(const fs::path& path, bool best, const std::function<void()>& on_progress = {});

}  // namespace weft
