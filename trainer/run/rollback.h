// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/files.h"

namespace weft {

// The last checkpoint before the consecutive steps that a diverging run has skipped; "" if there is no such checkpoint.
// One that is damaged is passed over with a warning; one that cannot be read now, or may not be, is an error.
std::string last_good_checkpoint(const fs::path& checkpoints);

}  // namespace weft
