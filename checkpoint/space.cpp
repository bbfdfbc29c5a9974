#include "checkpoint/space.h"

#include "base/error.h"

namespace weft {

uint64_t checkpoint_bytes(int64_t elements, int64_t element_bytes, int64_t buffers, int64_t tensors) {
  // A tensor of a buffer: some 300 bytes of manifest and 2 KiB of HDF5 groups, attributes and headers.
  constexpr int64_t kDescription = 2500, kFixed = 64 << 10;
  return static_cast<uint64_t>(buffers * (elements * element_bytes + tensors * kDescription) + kFixed);
}

void require_space(const fs::path& directory, uint64_t needed, const std::string& what) {
  const uint64_t free = free_bytes(directory);
  if (free >= needed) return;
  throw DataError(fmt::format("{}: {} bytes are free, but {} need {} bytes", directory.string(), free, what, needed),
                  "free some space there, set run_dir to another file system, or lower checkpoint.keep_last");
}

}  // namespace weft
