// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/files.h"

namespace weft {

// The last checkpoint from before the steps that a run skips at the moment, which it goes back to when it has diverged;
// "" if there is none.
std::string last_good_checkpoint(const fs::path& checkpoints);

}  // namespace weft
