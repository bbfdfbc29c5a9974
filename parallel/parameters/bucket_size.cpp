// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/bucket_size.h"

#include <algorithm>

namespace weft {

int64_t gradient_bucket_bytes(const Device& device, int replicas) {
  constexpr int64_t kMiB = 1 << 20;
  if (device.kind != DeviceKind::Cuda) return 8 * kMiB;
  return std::clamp(replicas * kMiB / 2, 25 * kMiB, 256 * kMiB);
}

}  // namespace weft
