// SPDX-License-Identifier: Apache-2.0
#include "base/files/crc32c.h"

#include <array>

namespace weft {
namespace {

// The remainder of each byte by the polynomial 0x1EDC6F41, its bits in reverse.
constexpr std::array<uint32_t, 256> remainders() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0x82F63B78U : 0U);
    table[byte] = rest;
  }
  return table;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = remainders();
  uint32_t rest = ~0U;
  for (const char c : bytes) rest = (rest >> 8) ^ kTable[(rest ^ static_cast<uint8_t>(c)) & 0xff];
  return ~rest;
}

}  // namespace weft
