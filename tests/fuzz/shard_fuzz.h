// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Reads bytes as a shard after what a manifest says of it: its kind (u8: stream, pairs), bytes of an id, whether it has
// references (u8), its records, and count, offset and index of source, target and references (i64 each). Checksums are
// those that readers require. False if it is refused; a sequence outside its array is a bug.
bool reads_shard(std::span<const uint8_t> bytes);

}  // namespace weft::test
