// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Reads bytes as the manifest of a dataset without its checksum, which is added. Whether it was accepted; anything but
// a DataError that is thrown, or done to memory, is a bug.
bool reads_dataset(std::span<const uint8_t> bytes);

}  // namespace weft::test
