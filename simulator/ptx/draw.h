// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::cuda_device {

// What is drawn by a setting and by what it is about, and by nothing else, so that every run and process draws alike:
// a number that depends on all bits of both (splitmix64, Steele et al. 2014). More words are taken in one after
// another.
inline uint64_t mixed(uint64_t state, uint64_t word) {
  uint64_t z = (state ^ word) + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace weft::cuda_device
