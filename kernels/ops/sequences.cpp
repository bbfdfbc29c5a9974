// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/sequences.h"

#include <algorithm>

#include "kernels/transfer.h"

namespace weft {

SharedOffsets share_offsets(std::span<const int32_t> offsets, const Tensor& device) {
  const bool rising = !offsets.empty() && offsets.front() == 0 && std::is_sorted(offsets.begin(), offsets.end());
  require<InternalError>(rising, "offsets of {} sequences do not rise from 0",
                         static_cast<int64_t>(offsets.size()) - 1);
  auto shared = std::make_shared<Offsets>();
  shared->host.assign(offsets.begin(), offsets.end());
  shared->device = device;
  for (int64_t s = 0; s < shared->sequences(); ++s) shared->longest = std::max(shared->longest, shared->length(s));
  return shared;
}

SharedOffsets share_offsets(Context& context, std::span<const int32_t> offsets) {
  return share_offsets(offsets, to_device(context, offsets));
}

SharedCacheRows share_cache_rows(Context& context, std::vector<int32_t> slots, std::vector<int32_t> past) {
  require<InternalError>(slots.size() == past.size(), "{} cache slots, but {} pasts", slots.size(), past.size());
  std::vector<int32_t> both = slots;
  both.insert(both.end(), past.begin(), past.end());
  const Tensor device = to_device(context, std::span<const int32_t>(both));
  return std::make_shared<CacheRows>(
      CacheRows{.slots = std::move(slots), .past = std::move(past), .device = device.view({2, device.elements() / 2})});
}

}  // namespace weft
