// SPDX-License-Identifier: Apache-2.0
#include "parallel/watch/siphash.h"

#include <bit>
#include <cstring>

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as the paper has them: little-endian");

// The state v0 to v3 of the paper.
struct State {
  std::array<uint64_t, 4> v;

  void rounds(int count) {
    auto& [a, b, c, d] = v;
    for (int i = 0; i < count; ++i) {
      a += b, c += d;
      b = std::rotl(b, 13) ^ a, d = std::rotl(d, 16) ^ c;
      a = std::rotl(a, 32);
      c += b, a += d;
      b = std::rotl(b, 17) ^ c, d = std::rotl(d, 21) ^ a;
      c = std::rotl(c, 32);
    }
  }

  void absorb(uint64_t word) {
    v[3] ^= word;
    rounds(2);
    v[0] ^= word;
  }
};

}  // namespace

uint64_t siphash(std::string_view text, const SipKey& key) {
  // The constants spell "somepseudorandomlygeneratedbytes".
  State state{{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
               key[1] ^ 0x7465646279746573}};
  const uint64_t length = text.size();
  for (; text.size() >= sizeof(uint64_t); text.remove_prefix(sizeof(uint64_t))) {
    uint64_t word;
    std::memcpy(&word, text.data(), sizeof word);
    state.absorb(word);
  }
  uint64_t last = length << 56;  // below the last byte of the length, the rest of the text
  if (!text.empty()) std::memcpy(&last, text.data(), text.size());
  state.absorb(last);
  state.v[2] ^= 0xff;
  state.rounds(4);
  return state.v[0] ^ state.v[1] ^ state.v[2] ^ state.v[3];
}

}  // namespace weft
