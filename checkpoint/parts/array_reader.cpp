// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/parts/array_reader.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "checkpoint/digest/state_digest.h"

namespace weft {
namespace {

constexpr uint64_t kPiece = PartIndex::kBlock;

class ArrayReader {
 public:
  ArrayReader(const File& file, const StoredArray& array, uint64_t block_bytes)
      : file_(file), array_(array), block_bytes_(block_bytes), width_(size_of(array.dtype)), bytes_(array.bytes()) {
    int64_t at = 0;
    for (const Stretch& stretch : array.stretches) {
      begins_.push_back(at);
      at += stretch.elements();
    }
  }

  template <class Do>
  void for_each_block(const Do& work) const {
    for (size_t i = 0; i < array_.hashes.size(); ++i) {
      const uint64_t begin = i * block_bytes_;
      work(i, ByteRange{begin, begin + std::min(block_bytes_, bytes_ - begin)});
    }
  }

  template <class Do>
  static void for_each_piece(const ByteRange& block, const Do& work) {
    for (uint64_t at = block.begin; at < block.end; at += kPiece) work(ByteRange{at, std::min(at + kPiece, block.end)});
  }

  // Calls work(stretch, box, the box's first byte in the array) until it returns true. True if one call did.
  template <class Do>
  bool any_box(const ByteRange& bytes, const Do& work) const {
    const auto begin = static_cast<int64_t>(bytes.begin / width_), end = static_cast<int64_t>(bytes.end / width_);
    const auto after = std::ranges::upper_bound(begins_, begin);
    for (auto i = static_cast<size_t>(after - begins_.begin()) - 1; i < begins_.size() && begins_[i] < end; ++i) {
      const Stretch& stretch = array_.stretches[i];
      int64_t at = std::max(begin, begins_[i]);
      const int64_t last = std::min(end - begins_[i], stretch.elements());
      for (const Box& box : boxes_of(stretch, at - begins_[i], last)) {
        if (work(stretch, box, static_cast<uint64_t>(at) * width_)) return true;
        at += box.extent.elements();
      }
    }
    return false;
  }

  bool needed(const ByteRange& block, const NeedBox& needs) const {
    bool found = false;
    for_each_piece(block, [&](const ByteRange& piece) {
      found = found || any_box(piece, [&](const Stretch& s, const Box& box, uint64_t) { return needs(s, box); });
    });
    return found;
  }

  // Reads a block, calls use(piece, its bytes) and compares the checksum.
  template <class Do>
  void read(size_t block, const ByteRange& bytes, const Do& use) {
    Hasher hasher;
    for_each_piece(bytes, [&](const ByteRange& piece) {
      memory_.resize(piece.size());
      file_.read_at(array_.offset + piece.begin, memory_.data(), memory_.size());
      hasher.update(memory_.data(), memory_.size());
      use(piece, memory_.data());
    });
    if (hasher.digest() != array_.hashes[block]) refuse(bytes);
  }

 private:
  [[noreturn]] void refuse(const ByteRange& block) const {
    std::string names;
    any_box(block, [&](const Stretch& s, const Box&, uint64_t) {
      if (!names.ends_with(s.name)) names += (names.empty() ? "" : ", ") + s.name;
      return false;
    });
    throw DataError(
        fmt::format("{}: {} of {} is damaged (its checksum differs)", file_.path().string(), array_.buffer, names));
  }

  const File& file_;
  const StoredArray& array_;
  uint64_t block_bytes_, width_, bytes_;
  std::vector<int64_t> begins_;  // first element of each stretch, counted in the array
  std::vector<std::byte> memory_;
};

}  // namespace

uint64_t read_array(const File& file, const StoredArray& array, uint64_t block_bytes, const NeedBox& needs,
                    const UseBox& use, const std::function<void()>& on_progress) {
  ArrayReader reader(file, array, block_bytes);
  uint64_t bytes_read = 0;
  reader.for_each_block([&](size_t block, const ByteRange& bytes) {
    if (!reader.needed(bytes, needs)) return;
    reader.read(block, bytes, [&](const ByteRange& piece, const std::byte* from) {
      reader.any_box(piece, [&](const Stretch& stretch, const Box& box, uint64_t at) {
        use(stretch, box, from + (at - piece.begin));
        return false;
      });
      if (on_progress) on_progress();
    });
    bytes_read += bytes.size();
  });
  return bytes_read;
}

uint64_t verify_array(const File& file, const StoredArray& array, uint64_t block_bytes,
                      const std::function<void()>& on_progress) {
  ArrayReader reader(file, array, block_bytes);
  ArrayDigest digest(array);
  reader.for_each_block([&](size_t block, const ByteRange& bytes) {
    reader.read(block, bytes, [&](const ByteRange& piece, const std::byte* from) {
      digest.add({from, piece.size()});
      if (on_progress) on_progress();
    });
  });
  return digest.sum();
}

}  // namespace weft
