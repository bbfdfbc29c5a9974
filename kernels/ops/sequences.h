// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/context.h"

namespace weft {

// A micro-batch holds its sequences end to end, without padding: sequence s is rows host[s] .. host[s + 1]. Offsets are
// made and checked once, and shared by all operations over the sequences.
struct Offsets {
  std::vector<int32_t> host;  // [sequences + 1], ascending from 0; it sizes costs and grids without asking the device
  Tensor device;              // i32 copy on the device
  int64_t longest = 0;

  int64_t sequences() const { return static_cast<int64_t>(host.size()) - 1; }
  int64_t rows() const { return host.back(); }
  int64_t length(int64_t sequence) const { return host[sequence + 1] - host[sequence]; }
  bool one_length() const { return sequences() > 0 && longest * sequences() == rows(); }
};
using SharedOffsets = std::shared_ptr<const Offsets>;

// `device` holds the offsets already: a slice of an upload that describes the rows.
SharedOffsets share_offsets(std::span<const int32_t> offsets, const Tensor& device);
SharedOffsets share_offsets(Context& context, std::span<const int32_t> offsets);

// For each sequence of a decoding step: its slot in the key/value cache, and the number of positions in that slot
// before the step.
struct CacheRows {
  std::vector<int32_t> slots, past;
  Tensor device;  // i32[2, sequences]: copies of both on the device
};
using SharedCacheRows = std::shared_ptr<const CacheRows>;
SharedCacheRows share_cache_rows(Context& context, std::vector<int32_t> slots, std::vector<int32_t> past);

}  // namespace weft
