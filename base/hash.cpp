// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <fmt/core.h>
#include <xxhash.h>

namespace weft {

uint64_t hash64(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string hash_hex(uint64_t value) { return fmt::format("{:016x}", value); }

Hasher::Hasher() : state_(XXH3_createState()) { XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_)); }
Hasher::~Hasher() { XXH3_freeState(static_cast<XXH3_state_t*>(state_)); }
void Hasher::update(const void* bytes, size_t size) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state_), bytes, size);
}
uint64_t Hasher::digest() const { return XXH3_64bits_digest(static_cast<const XXH3_state_t*>(state_)); }

}  // namespace weft
