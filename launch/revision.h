// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft {

// The output of `git describe --always --dirty` for the sources at build time; "unknown" outside a repository.
const char* git_revision();

}  // namespace weft
