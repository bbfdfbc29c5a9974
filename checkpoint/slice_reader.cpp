#include "checkpoint/slice_reader.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"

namespace weft {

uint64_t read_slice(const File& file, const CheckpointSlice& slice, const UsePiece& use) {
  constexpr uint64_t kPiece = 4 << 20;
  const int64_t rows = slice.extent.rank() == 0 ? 1 : slice.extent[0];
  const uint64_t row_bytes = rows == 0 ? 0 : slice.bytes() / static_cast<uint64_t>(rows);
  const auto rows_at_once = static_cast<int64_t>(std::max<uint64_t>(1, kPiece / std::max<uint64_t>(1, row_bytes)));
  std::vector<std::byte> bytes;
  Hasher hasher;
  for (int64_t first = 0; first < rows; first += rows_at_once) {
    const int64_t n = std::min(rows_at_once, rows - first);
    bytes.resize(static_cast<size_t>(n) * row_bytes);
    file.read_at(slice.offset + static_cast<uint64_t>(first) * row_bytes, bytes.data(), bytes.size());
    hasher.update(bytes.data(), bytes.size());
    if (!use) continue;
    std::vector<int64_t> origin = slice.origin;
    std::vector<int64_t> extent(slice.extent.dims().begin(), slice.extent.dims().end());
    if (!origin.empty()) origin[0] += first, extent[0] = n;
    use(bytes.data(), origin, Shape(extent));
  }
  require<DataError>(hasher.digest() == slice.hash, "{}: {} of {} is damaged (its checksum differs)",
                     file.path().string(), slice.buffer, slice.name);
  return slice.bytes();
}

}  // namespace weft
