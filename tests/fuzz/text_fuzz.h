// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Each reads bytes as a file of text. Whether every record of it was taken, and there is one: false where a DataError
// refused it; anything else that is thrown, or done to memory, is a bug.
bool reads_jsonl(std::span<const uint8_t> bytes);
bool reads_csv(std::span<const uint8_t> bytes);
bool reads_tsv(std::span<const uint8_t> bytes);
// The same for what a compressed file holds; false if it is not compressed in this way.
bool reads_gzip(std::span<const uint8_t> bytes);
bool reads_zstd(std::span<const uint8_t> bytes);

}  // namespace weft::test
