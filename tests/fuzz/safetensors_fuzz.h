// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Opens a file of these bytes and reads all its tensors. Whether that went well: false where it was refused with a
// DataError; anything else that is thrown, or done to memory, is a bug.
bool reads_safetensors(std::span<const uint8_t> bytes);

}  // namespace weft::test
