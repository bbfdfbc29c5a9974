// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Cuts a text, the bytes behind the first line feed, by the pattern before it. False if the pattern is refused, or
// takes too many steps on this text; any other exception, or pieces that are not the text, are a bug.
bool reads_pattern(std::span<const uint8_t> bytes);

}  // namespace weft::test
