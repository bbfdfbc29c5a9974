// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/parts/part.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/hdf5.h"
#include "checkpoint/digest/state_digest.h"

namespace weft {
namespace {

Hdf5Type hdf5_type(DType dtype) {
  require<InternalError>(dtype == DType::F32 || dtype == DType::F64, "checkpoints hold f32 and f64, not {}",
                         name(dtype));
  return dtype == DType::F32 ? Hdf5Type::F32 : Hdf5Type::F64;
}

// Creates the file with room for all arrays and for their index. Sets the offsets of the arrays; returns the offset of
// the index.
uint64_t lay_out(const fs::path& path, PartIndex& index) {
  Hdf5File file = Hdf5File::create(path, DirectFile::kPage);
  file.set_attribute("/", "weft_checkpoint_part", int64_t{CheckpointManifest::kVersion});
  for (StoredArray& array : index.arrays) {
    const std::string buffer = "/" + array.buffer;
    if (!file.exists(buffer)) file.create_group(buffer);
    const std::string place = fmt::format("{}/{}", buffer, file.children(buffer).size());
    file.create_array(place, hdf5_type(array.dtype), std::vector{array.elements()});
    array.offset = file.array(place).offset;
  }
  file.create_array("/index", Hdf5Type::U8, std::vector{std::ssize(index_text(index))});
  const uint64_t offset = file.array("/index").offset;
  file.close();
  return offset;
}

}  // namespace

std::vector<StoredArray> stored_arrays(std::span<const OwnedArray> owned) {
  std::vector<StoredArray> arrays;
  for (const OwnedArray& array : owned) {
    StoredArray& stored = arrays.emplace_back(StoredArray{.buffer = array.buffer, .dtype = array.dtype});
    for (const OwnedArray::Piece& piece : array.pieces) stored.stretches.push_back(piece.place);
  }
  return arrays;
}

CheckpointPart::CheckpointPart(const fs::path& path, std::vector<StoredArray> arrays, std::function<void()> between)
    : index_{.arrays = std::move(arrays)},
      index_offset_(lay_out(path, index_)),
      file_(path, File::Mode::ReadWrite),
      direct_(path),
      between_(std::move(between)) {}

void CheckpointPart::write(size_t array, std::span<const std::byte> bytes) {
  StoredArray& stored = index_.arrays[array];
  require<InternalError>(bytes.size() == stored.bytes(), "{} bytes for an array of {}", bytes.size(), stored.bytes());
  ArrayDigest digest(stored);
  for (uint64_t at = 0; at < bytes.size(); at += kPiece) {
    const auto piece = bytes.subspan(at, std::min<uint64_t>(kPiece, bytes.size() - at));
    for (uint64_t block = 0; block < piece.size(); block += PartIndex::kBlock) {
      const auto hashed = piece.subspan(block, std::min<uint64_t>(PartIndex::kBlock, piece.size() - block));
      stored.hashes.push_back(hash64({reinterpret_cast<const char*>(hashed.data()), hashed.size()}));
    }
    digest.add(piece);
    write_piece(stored.offset + at, piece);
    if (between_) between_();
  }
  digest_ += digest.sum();
}

void CheckpointPart::write_piece(uint64_t offset, std::span<const std::byte> piece) {
  const size_t direct = direct_.write_at(offset, piece.data(), piece.size());
  if (direct == piece.size()) return;
  const uint64_t begin = offset + direct, end = offset + piece.size();
  file_.write_at(begin, piece.data() + direct, end - begin);
  if (gathered_.size() == 0) gathered_ = {begin, end};
  gathered_ = {std::min(gathered_.begin, begin), std::max(gathered_.end, end)};
  if (gathered_.size() >= kWrittenBack) write_back();
}

// Flushes the gathered range and waits for the one before it, so at most two ranges are not on the disk yet.
void CheckpointPart::write_back() {
  file_.start_writing_back(gathered_.begin, gathered_.size());
  if (on_its_way_.size() > 0) file_.finish_writing_back(on_its_way_.begin, on_its_way_.size());
  on_its_way_ = gathered_;
  gathered_ = {};
}

CheckpointFile CheckpointPart::finish() {
  const std::string text = index_text(index_);
  file_.write_at(index_offset_, text.data(), text.size());
  file_.sync();
  return {.name = file_.path().filename(),
          .bytes = file_.size(),
          .index = {.offset = index_offset_, .bytes = text.size(), .hash = hash64(text)}};
}

}  // namespace weft
