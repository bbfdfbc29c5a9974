// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/space.h"

#include "base/error.h"
#include "checkpoint/parts/part_index.h"

namespace weft {

uint64_t checkpoint_bytes(int64_t elements, int64_t element_bytes, int64_t buffers, int64_t tensors, int64_t parts) {
  // Per part: HDF5's structure, and a line in the manifest. Per tensor: its box in a part's index and its stretches
  // there. Tensors that are cut between parts have a few more stretches.
  constexpr int64_t kPart = 8 << 10, kTensor = 400, kFixed = 32 << 10;
  const int64_t hashes = elements * element_bytes / static_cast<int64_t>(PartIndex::kBlock) * 20;
  return static_cast<uint64_t>(buffers * (elements * element_bytes + hashes + tensors * kTensor) + parts * kPart +
                               kFixed);
}

void require_space(const fs::path& directory, uint64_t needed, const std::string& what) {
  const uint64_t free = free_bytes(directory);
  if (free >= needed) return;
  throw DataError(fmt::format("{}: {} bytes are free, but {} need {} bytes", directory.string(), free, what, needed),
                  "free some space there, set run_dir to another file system, or lower checkpoint.keep_last");
}

}  // namespace weft
