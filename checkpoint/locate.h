// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "base/files.h"

// Which checkpoint a path means that a user gives: a committed checkpoint means itself, a run directory means those in
// its folder `checkpoints`. A directory without that folder is taken for the folder itself.
namespace weft {

fs::path checkpoints_folder(const fs::path& run);  // RUN/checkpoints
// True if `path` has a folder of checkpoints and is no checkpoint.
bool is_run_directory(const fs::path& path);

// All checkpoints that `path` means, in the order of saves. Their tensors are not read.
std::vector<fs::path> checkpoints_at(const fs::path& path);

// The newest of them. DataError that begins with `key` (a key of the job; "" for none) and says what is there instead.
// The caller reads it, and so finds out whether it is intact.
fs::path newest_checkpoint(const fs::path& path, std::string_view key = "");

// The newest of them whose every array is intact, or with `best` the one of the run's best evaluation. DataError as
// above. `on_progress` is called while checksums are compared.
fs::path resolve_checkpoint(const fs::path& path, bool best, const std::function<void()>& on_progress = {});

}  // namespace weft
