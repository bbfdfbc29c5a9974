// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Opens a file of these bytes and reads all its tensors. Returns false if a DataError refused the file; any other
// exception, or a memory error, is a bug.
bool reads_safetensors(std::span<const uint8_t> bytes);

}  // namespace weft::test
