// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Reads bytes as a datagram of a run of 8 ranks, under the signature that its reader requires. False if it is refused;
// a state that no rank can be in is a bug.
bool reads_datagram(std::span<const uint8_t> bytes);

}  // namespace weft::test
