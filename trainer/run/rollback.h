// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "base/files.h"

namespace weft {

// The last checkpoint from before the steps that a run skips at the moment, which it goes back to when it has diverged;
// "" if there is none.
std::string last_good_checkpoint(const fs::path& checkpoints);

// A number, `attempt` or higher, that no checkpoint that was set aside bears (checkpoint/retention.h): a run that rolls
// back twice in one attempt renames nothing over what it set aside before.
int64_t set_aside_number(const fs::path& checkpoints, int64_t attempt);

}  // namespace weft
