// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft {

// What `git describe --always --dirty` said of the sources when weft was built; "unknown" outside a repository.
const char* git_revision();

}  // namespace weft
