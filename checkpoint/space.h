// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "base/files.h"

namespace weft {

// Bytes that one checkpoint takes on disk, rounded up generously: `elements` of `element_bytes` in each of `buffers`
// (master weights, moments), and the index of `tensors` tensors in `parts` files.
uint64_t checkpoint_bytes(int64_t elements, int64_t element_bytes, int64_t buffers, int64_t tensors, int64_t parts);

// DataError if the file system that holds `directory` has less than `needed` bytes free for this user; the message
// names the directory, both numbers, and `what` needs the bytes. Quotas are not considered.
void require_space(const fs::path& directory, uint64_t needed, const std::string& what);

}  // namespace weft
