// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace weft {

using SipKey = std::array<uint64_t, 2>;

// SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012): without the key, nobody can tell the
// hash of a text that they have not seen hashed.
uint64_t siphash(std::string_view text, const SipKey& key);

}  // namespace weft
