// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Reads bytes as what describes a checkpoint: the body of a manifest, or else the index of a part. Whether one of them
// was accepted; anything but a DataError that is thrown, or done to memory, is a bug.
bool reads_checkpoint(std::span<const uint8_t> bytes);

}  // namespace weft::test
