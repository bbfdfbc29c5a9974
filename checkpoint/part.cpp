#include "checkpoint/part.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/hdf5.h"

namespace weft {
namespace {

Hdf5Type hdf5_type(DType dtype) {
  require<InternalError>(dtype == DType::F32 || dtype == DType::F64, "checkpoints hold f32 and f64, not {}",
                         name(dtype));
  return dtype == DType::F32 ? Hdf5Type::F32 : Hdf5Type::F64;
}

std::vector<std::string> write_structure(const fs::path& path, const std::vector<CheckpointSlice>& slices) {
  Hdf5File file = Hdf5File::create(path);
  file.set_attribute("/", "weft_checkpoint_part", int64_t{CheckpointManifest::kVersion});
  std::vector<std::string> arrays;
  for (const CheckpointSlice& slice : slices) {
    const std::string buffer = "/" + slice.buffer, tensor = buffer + "/" + slice.name;
    if (!file.exists(buffer)) file.create_group(buffer);
    if (!file.exists(tensor)) file.create_group(tensor);
    const std::string array = fmt::format("{}/{}", tensor, file.children(tensor).size());
    file.create_array(array, hdf5_type(slice.dtype), slice.extent.dims());
    file.set_attribute(array, "shape", slice.shape.text());
    file.set_attribute(array, "origin", Shape(slice.origin).text());
    arrays.push_back(array);
  }
  file.close();
  return arrays;
}

// Creates the file with room for all slices, and says where they lie.
CheckpointFile lay_out(const fs::path& path, std::vector<CheckpointSlice> slices) {
  const std::vector<std::string> arrays = write_structure(path, slices);
  const Hdf5File structure = Hdf5File::open(path);
  for (size_t i = 0; i < slices.size(); ++i) slices[i].offset = structure.array(arrays[i]).offset;
  return {.name = path.filename(), .slices = std::move(slices)};
}

}  // namespace

CheckpointPart::CheckpointPart(const fs::path& path, std::vector<CheckpointSlice> slices, std::function<void()> between)
    : stored_(lay_out(path, std::move(slices))), file_(path, File::Mode::ReadWrite), between_(std::move(between)) {}

void CheckpointPart::write(size_t slice, std::span<const std::byte> bytes) {
  CheckpointSlice& stored = stored_.slices[slice];
  require<InternalError>(bytes.size() == stored.bytes(), "{} bytes for {}, which takes {}", bytes.size(), stored.name,
                         stored.bytes());
  constexpr uint64_t kCached = 1 << 20;  // is written while the processor's cache has it from hashing
  Hasher hasher;
  uint64_t told = 0;
  for (uint64_t at = 0; at < bytes.size();) {
    const auto piece = bytes.subspan(at, std::min<uint64_t>(kCached, bytes.size() - at));
    hasher.update(piece.data(), piece.size());
    file_.write_at(stored.offset + at, piece.data(), piece.size());
    at += piece.size();
    if (at - told < kPiece && at < bytes.size()) continue;
    written(stored.offset + told, stored.offset + at);
    told = at;
  }
  stored.hash = hasher.digest();
}

void CheckpointPart::written(uint64_t begin, uint64_t end) {
  if (gathered_.size() == 0) gathered_ = {begin, end};
  gathered_ = {std::min(gathered_.begin, begin), std::max(gathered_.end, end)};
  if (gathered_.size() >= kPiece) write_back();
  if (between_) between_();
}

// Two pieces at most are not on the disk.
void CheckpointPart::write_back() {
  file_.start_writing_back(gathered_.begin, gathered_.size());
  if (on_its_way_.size() > 0) file_.finish_writing_back(on_its_way_.begin, on_its_way_.size());
  on_its_way_ = gathered_;
  gathered_ = {};
}

CheckpointFile CheckpointPart::finish() {
  file_.sync();
  stored_.bytes = file_.size();
  return stored_;
}

}  // namespace weft
