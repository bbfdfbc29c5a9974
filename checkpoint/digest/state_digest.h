// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include "checkpoint/parts/part_index.h"
#include "checkpoint/run_state.h"
#include "parallel/communicator.h"

// The digest of a state of training: the sum modulo 2^64 of element_digest() (base/hash.h) over every element of its
// arrays, whose key is the hash of "BUFFER/NAME" and whose index is the row-major one in the global tensor, and of the
// digest of its counters. The digests of parts add up to that of the whole, whatever ranks, boxes or pieces hold them.
namespace weft {

// Sums the digests of an array's elements, which come piece by piece, in their order.
class ArrayDigest {
 public:
  explicit ArrayDigest(const StoredArray& array);
  // The array's next bytes: whole elements.
  void add(std::span<const std::byte> bytes);
  uint64_t sum() const { return sum_; }

 private:
  const StoredArray& array_;
  size_t stretch_ = 0;  // the stretch of the next element
  int64_t at_ = 0;      // the next element, counted from the stretch's first
  uint64_t sum_ = 0;
};

// The digest of arrays as they are now, on the host or on a device.
uint64_t digest_of(Context& context, std::span<const OwnedArray> arrays);

// The digest of the position and the counters with which training continues: all but the run's id, what evaluations
// found or left out, and the next learning rate, which follows from the job.
uint64_t digest_of(const RunState& state);

// The sum of the digests of all ranks' parts, on every rank. Collective.
uint64_t sum_of_digests(Communicator& world, uint64_t mine);

}  // namespace weft
