// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "base/files.h"

namespace weft {

// The last checkpoint before the steps in a row that a diverging run has skipped; "" if no such checkpoint exists.
std::string last_good_checkpoint(const fs::path& checkpoints);

// A number from `attempt` on that no checkpoint set aside before has in its name (checkpoint/retention.h), so that a
// run that rolls back twice in one attempt renames nothing over an earlier one.
int64_t set_aside_number(const fs::path& checkpoints, int64_t attempt);

}  // namespace weft
