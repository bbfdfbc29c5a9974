#include "kernels/tuning.h"

#include <algorithm>

#include "kernels/backend/backend.h"
#include "kernels/gradient_bucket.h"

namespace weft {

void set_products(Context& context, const ProductOptions& options) { context.backend().set_products(options); }

std::string tuned(Context& context) { return context.backend().tuned(); }

void take_tuned(Context& context, const std::string& text, const std::string& from) {
  context.backend().take_tuned(text, from);
}

std::string newly_tuned(Context& context) { return context.backend().newly_tuned(); }

int agree_tuned(Context& context, std::span<const std::string> texts) { return context.backend().agree_tuned(texts); }

int64_t gradient_bucket_bytes(Context& context, int replicas) {
  constexpr int64_t kMiB = 1 << 20;
  if (context.backend().allocator()->device().kind != DeviceKind::Cuda) return 8 * kMiB;
  return std::clamp(replicas * kMiB / 2, 25 * kMiB, 256 * kMiB);
}

}  // namespace weft
