// SPDX-License-Identifier: Apache-2.0
#include "kernels/device/gradient_bucket.h"

#include <algorithm>

#include "kernels/backend/backend.h"

namespace weft {

int64_t gradient_bucket_bytes(Context& context, int replicas) {
  constexpr int64_t kMiB = 1 << 20;
  if (context.backend().allocator()->device().kind != DeviceKind::Cuda) return 8 * kMiB;
  return std::clamp(replicas * kMiB / 2, 25 * kMiB, 256 * kMiB);
}

}  // namespace weft
