// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/files.h"

namespace weft {

// The last checkpoint before the steps in a row that a diverging run has skipped; "" if no such checkpoint exists.
std::string last_good_checkpoint(const fs::path& checkpoints);

}  // namespace weft
