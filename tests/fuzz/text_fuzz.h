// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Each function reads bytes as a file of text. Returns whether there is a record and every one was taken: false if a
// DataError refused the file; any other exception, or a memory error, is a bug.
bool reads_jsonl(std::span<const uint8_t> bytes);
bool reads_messages(std::span<const uint8_t> bytes);
bool reads_csv(std::span<const uint8_t> bytes);
bool reads_tsv(std::span<const uint8_t> bytes);
bool reads_parquet(std::span<const uint8_t> bytes);
// Each reads bytes as a compressed file and compares its text; false if it is not compressed in this way.
bool reads_gzip(std::span<const uint8_t> bytes);
bool reads_zstd(std::span<const uint8_t> bytes);

}  // namespace weft::test
