// SPDX-License-Identifier: Apache-2.0
// Atomics as synchronisation between blocks of one launch ("the last block to finish adds up all blocks' results").
//
// The rule: an atomic on global memory by a thread that has executed a fence for the device before (__threadfence), or
// that is itself a release (.release, .acq_rel), publishes under its address what its block has done so far, as far as
// the block's barriers order it before that thread. An atomic that returns a value makes what is published under its
// address known to its block. An atomic without a fence before it publishes nothing, so a forgotten __threadfence() is
// a race. Whether a fence follows on the acquiring side, and whether the value read is used, is not checked.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "simulator/machine/shadow.h"

namespace weft::cuda_device {

class Releases {
 public:
  void publish(uint64_t address, const Release& release) { by_address_[address].push_back(release); }
  // Adds the releases published under `address` to `known`, which stays in the order of runs.
  void acquire(uint64_t address, std::vector<Release>* known) const;

 private:
  std::unordered_map<uint64_t, std::vector<Release>> by_address_;
};

// The number of blocks with a release in `known`.
size_t blocks_of(const std::vector<Release>& known);

}  // namespace weft::cuda_device
