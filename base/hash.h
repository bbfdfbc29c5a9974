// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// XXH3, 64 bits: checksums of files and keys of derived random streams. Not cryptographic.
uint64_t hash64(std::string_view bytes, uint64_t seed = 0);
std::string hash_hex(uint64_t value);  // 16 lower-case hexadecimal digits

// The same hash over bytes that arrive in pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void update(const void* bytes, size_t size);
  uint64_t digest() const;

 private:
  void* state_;
};

}  // namespace weft
