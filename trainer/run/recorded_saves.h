// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/files.h"

namespace weft {

// A save of a run, as metrics.jsonl has it, or its checkpoint, or both.
struct RecordedSave {
  int64_t step = 0;
  std::optional<uint64_t> digest;      // earlier builds stored none
  std::optional<fs::path> checkpoint;  // if it is still there
  nlohmann::ordered_json fingerprint;  // the checkpoint's; null without it
};

// The saves of a run that count, by step: neither those that a later attempt has superseded, nor checkpoints that are
// set aside. Nothing is written, so the run may still train. DataError if a manifest cannot be read, or a checkpoint
// has another digest than the log says.
std::vector<RecordedSave> recorded_saves(const fs::path& run);

// The last rollback to a step of [begin, end), if there is one: what the run trained from there on was not what it had
// trained before.
std::optional<int64_t> rollback_between(const fs::path& run, int64_t begin, int64_t end);

}  // namespace weft
