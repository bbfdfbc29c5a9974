// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace weft {

// The SHA-256 of a text (FIPS 180-4), 64 hexadecimal digits: of texts that other programs name by it. What weft itself
// compares has the faster hashes of base/hash.h.
std::string sha256(std::string_view text);

}  // namespace weft
