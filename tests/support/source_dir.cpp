// SPDX-License-Identifier: Apache-2.0
#include "tests/support/source_dir.h"

namespace weft::test {

std::filesystem::path source_dir() { return WEFT_SOURCE_DIR; }

}  // namespace weft::test
