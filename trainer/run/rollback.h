// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/files.h"

namespace weft {

// The last checkpoint before the consecutive steps that a diverging run has skipped; "" if there is no such checkpoint.
std::string last_good_checkpoint(const fs::path& checkpoints);

}  // namespace weft
