#include "checkpoint/part.h"

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

CheckpointPart::CheckpointPart(const fs::path& path, std::vector<CheckpointSlice> slices)
    : stored_(lay_out(path, std::move(slices))), file_(path, File::Mode::ReadWrite) {}

void CheckpointPart::write(size_t slice, std::span<const std::byte> bytes) {
  CheckpointSlice& stored = stored_.slices[slice];
  require<InternalError>(bytes.size() == stored.bytes(), "{} bytes for {}, which takes {}", bytes.size(), stored.name,
                         stored.bytes());
  file_.write_at(stored.offset, bytes.data(), bytes.size());
  stored.hash = hash64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

CheckpointFile CheckpointPart::finish() {
  file_.sync();
  stored_.bytes = file_.size();
  return stored_;
}

}  // namespace weft
