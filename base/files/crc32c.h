// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace weft {

// CRC-32C (Castagnoli, 1993; RFC 3720, appendix B.4): the checksum in files of other programs, such as TensorBoard's.
uint32_t crc32c(std::string_view bytes);

}  // namespace weft
