// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/context.h"

namespace weft {

// Rows of a micro-batch are sequences laid end to end, without padding: sequence s is rows host[s] .. host[s + 1].
// Made and checked once, where the sequences are known, and shared by all operations over them.
struct Offsets {
  std::vector<int32_t> host;  // sequences + 1, rising from 0: shape information (costs, grids), never a device's result
  Tensor device;              // i32, the same
  int64_t longest = 0;

  int64_t sequences() const { return static_cast<int64_t>(host.size()) - 1; }
  int64_t rows() const { return host.back(); }
  int64_t length(int64_t sequence) const { return host[sequence + 1] - host[sequence]; }
};
using SharedOffsets = std::shared_ptr<const Offsets>;

// `device`: where they have been uploaded already, with what else describes the rows.
SharedOffsets share_offsets(std::span<const int32_t> offsets, const Tensor& device);
SharedOffsets share_offsets(Context& context, std::span<const int32_t> offsets);

// Which slot of a key/value cache each sequence of a decoding step has, and how many positions it holds before the
// step.
struct CacheRows {
  std::vector<int32_t> slots, past;
  Tensor device;  // i32[2, sequences]: the same
};
using SharedCacheRows = std::shared_ptr<const CacheRows>;
SharedCacheRows share_cache_rows(Context& context, std::vector<int32_t> slots, std::vector<int32_t> past);

}  // namespace weft
