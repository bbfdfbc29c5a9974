// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace weft {

// XXH3, 64 bits: checksums of files and keys of derived random streams. Not cryptographic.
uint64_t hash64(std::string_view bytes, uint64_t seed = 0);
std::string hash_hex(uint64_t value);  // 16 lower-case hexadecimal digits

// A hash of the bits of one element of an array, for sums modulo 2^64 over elements in any order: `key` tells arrays
// apart, `index` the elements of one. Of one key and index, different bits have different hashes, so a sum in which one
// element changes always changes. It has two multiplications and no branch, for loops that the compiler vectorises.
constexpr uint64_t element_digest(uint64_t key, uint64_t index, uint64_t bits) {
  uint64_t x = bits ^ (key + index * 0x9e3779b97f4a7c15U);
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdU;  // these constants are MurmurHash3's
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53U;
  return x ^ (x >> 33);
}

// The sum of that hash over elements that lie end to end, the first of them at `index`. Bits: the unsigned integer of
// an element's width.
template <class Bits>
uint64_t digest_of_run(uint64_t key, uint64_t index, std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size() / sizeof(Bits); ++i) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
    sum += element_digest(key, index + i, bits);
  }
  return sum;
}

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
