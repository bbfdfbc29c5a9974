// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Reads bytes as the manifest of a dataset without its checksum, which is added. Returns whether the manifest was
// accepted; any exception except DataError, or a memory error, is a bug.
bool reads_dataset(std::span<const uint8_t> bytes);

}  // namespace weft::test
