// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Reads bytes as the body of a checkpoint's manifest, or else as the index of a checkpoint part. Returns whether
// one of them was accepted; any exception except DataError, or a memory error, is a bug.
bool reads_checkpoint(std::span<const uint8_t> bytes);
// Reads bytes as the state of a run in a manifest, writes it and reads it again, which must give the same state.
bool reads_run_state(std::span<const uint8_t> bytes);

}  // namespace weft::test
