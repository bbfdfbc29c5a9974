// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/files.h"

namespace weft {

// Writes `out`, which must not exist: the checkpoint `path` of a run with adapters (lora) as one without, in which each
// product's weight is W + (alpha / rank) B A. Everything that takes a checkpoint takes `out`, but no run resumes from
// it. One tensor is in memory at a time. ConfigError if `path` has no adapters, DataError if it is damaged.
void merge_adapters(const fs::path& path, const fs::path& out);

}  // namespace weft
