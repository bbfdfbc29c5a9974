// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Reads bytes as the body of a preparation's journal, under the checksum that its reader requires, and continues from
// it. False if it is refused; any exception, memory error, or file named outside the dataset is a bug.
bool reads_journal(std::span<const uint8_t> bytes);

}  // namespace weft::test
