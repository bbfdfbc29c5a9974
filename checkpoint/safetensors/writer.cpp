// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors/writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace weft {
namespace {

// The header is padded with spaces to a multiple of eight bytes, as other writers do, so that tensors are aligned.
std::string header_text(const std::vector<TensorToStore>& tensors, const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t at = 0;
  for (const TensorToStore& t : tensors) {
    const uint64_t end = at + static_cast<uint64_t>(t.shape.elements()) * stored_bytes(t.type);
    const auto dims = t.shape.dims();
    header[t.name] = {{"dtype", stored_name(t.type)},
                      {"shape", std::vector<int64_t>(dims.begin(), dims.end())},
                      {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

uint64_t write_values(File& file, uint64_t at, StoredType type, std::span<const float> values) {
  if (type == StoredType::F32) {
    file.write_at(at, values.data(), values.size_bytes());
    return at + values.size_bytes();
  }
  std::vector<uint16_t> piece;
  for (size_t begin = 0; begin < values.size(); begin += piece.size()) {
    piece.resize(std::min<size_t>(values.size() - begin, 1 << 20));
    std::ranges::transform(values.subspan(begin, piece.size()), piece.begin(),
                           [](float value) { return BFloat16(value).bits; });
    file.write_at(at, piece.data(), piece.size() * sizeof(uint16_t));
    at += piece.size() * sizeof(uint16_t);
  }
  return at;
}

SafetensorsWriter::SafetensorsWriter(fs::path path, std::vector<TensorToStore> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : path_(std::move(path)), tensors_(std::move(tensors)), file_(path_) {
  const std::string text = header_text(tensors_, metadata);
  const uint64_t length = text.size();
  file_.file().write_at(0, &length, sizeof(length));
  file_.file().write_at(sizeof(length), text.data(), text.size());
  at_ = sizeof(length) + length;
}

void SafetensorsWriter::write(std::span<const float> values) {
  require<InternalError>(next_ < tensors_.size(), "{}: all tensors are written", path_.string());
  const TensorToStore& tensor = tensors_[next_++];
  require<InternalError>(static_cast<int64_t>(values.size()) == tensor.shape.elements(), "{}: {} values for {}{}",
                         path_.string(), values.size(), tensor.name, tensor.shape);
  at_ = write_values(file_.file(), at_, tensor.type, values);
}

void SafetensorsWriter::finish() {
  require<InternalError>(next_ == tensors_.size(), "{}: {} of {} tensors are written", path_.string(), next_,
                         tensors_.size());
  file_.commit();
}

}  // namespace weft
