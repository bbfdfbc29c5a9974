#include "kernels/transfer.h"

#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"

namespace weft {

void upload_bytes(Context& context, std::span<const std::byte> from, const Tensor& to) {
  const Checks check(context, "upload");
  check.present("to", to);
  check.that(context.meta() || from.size() == to.bytes(), "{} bytes to {}", from.size(), to);
  const CostScope scope(context, {"upload", 0, static_cast<double>(to.bytes())});
  if (!context.meta() && !from.empty()) context.backend().upload(from, to);
}

void download_bytes(Context& context, const Tensor& from, std::span<std::byte> to) {
  const Checks check(context, "download");
  check.present("from", from);
  check.that(context.meta() || to.size() == from.bytes(), "{} to {} bytes", from, to.size());
  const CostScope scope(context, {"download", 0, static_cast<double>(from.bytes())});
  if (!context.meta() && !to.empty()) context.backend().download(from, to);
}

}  // namespace weft
