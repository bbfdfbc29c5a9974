// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/files.h"

namespace weft {

// The newest checkpoint of a run, as RUN/run.json names it: a start that finds less has lost work.
struct LastSave {
  int64_t step = 0;
  int64_t sequence = 0;  // its place in the order of saves; 0 in checkpoints of the first builds
};

// Nothing if the run has saved nothing, or no file says so. DataError if the file is there and cannot be read.
std::optional<LastSave> last_save(const fs::path& run_directory);

// Writes run.json at the start of an attempt. What it says of the last save stays.
void write_run_file(const fs::path& run_directory, const std::string& run, int64_t attempt,
                    const nlohmann::ordered_json& provenance);

// Records the last save in run.json; nothing: the run has saved nothing since it began where it was told to.
void note_last_save(const fs::path& run_directory, const std::optional<LastSave>& save);

}  // namespace weft
