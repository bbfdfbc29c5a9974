// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "base/files.h"
#include "checkpoint/parts/part_index.h"

namespace weft {

// Callbacks that receive a box of a stretch's tensor.
using NeedBox = std::function<bool(const Stretch& of, const Box& box)>;
using UseBox = std::function<void(const Stretch& of, const Box& box, const std::byte* bytes)>;

// Reads the blocks of an array that overlap a needed box, a MiB at a time so that memory never holds a second copy of
// a tensor, passes the boxes in them to `use`, and compares the checksums; the DataError names the file and the
// tensor. `on_progress` is called after each piece. Returns the bytes read.
uint64_t read_array(const File& file, const StoredArray& array, uint64_t block_bytes, const NeedBox& needs,
                    const UseBox& use, const std::function<void()>& on_progress = {});

// Reads the whole array and compares its checksums. Returns its digest (checkpoint/digest/state_digest.h).
uint64_t verify_array(const File& file, const StoredArray& array, uint64_t block_bytes,
                      const std::function<void()>& on_progress = {});

}  // namespace weft
