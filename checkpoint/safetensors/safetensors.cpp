// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/json.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are read without a change of byte order");

using JsonValue = nlohmann::json;

struct DTypeInfo {
  std::string_view name;
  uint64_t bytes;
  StoredType type = StoredType::Other;
};
// The dtypes of the format whose elements are whole bytes.
constexpr std::array kDTypes = {DTypeInfo{"F32", 4, StoredType::F32},
                                DTypeInfo{"BF16", 2, StoredType::BF16},
                                DTypeInfo{"F16", 2, StoredType::F16},
                                DTypeInfo{"F64", 8},
                                DTypeInfo{"I64", 8},
                                DTypeInfo{"U64", 8},
                                DTypeInfo{"I32", 4},
                                DTypeInfo{"U32", 4},
                                DTypeInfo{"I16", 2},
                                DTypeInfo{"U16", 2},
                                DTypeInfo{"I8", 1},
                                DTypeInfo{"U8", 1},
                                DTypeInfo{"BOOL", 1},
                                DTypeInfo{"F8_E4M3", 1},
                                DTypeInfo{"F8_E5M2", 1}};

const DTypeInfo& dtype_info(StoredType type) {
  const auto found = std::ranges::find(kDTypes, type, &DTypeInfo::type);
  require<InternalError>(type != StoredType::Other && found != kDTypes.end(), "no dtype of the format is StoredType {}",
                         static_cast<int>(type));
  return *found;
}

const DTypeInfo& dtype_info(const JsonValue& json, const std::string& at) {
  require<DataError>(json.is_string(), "{}: dtype: expected a text, got {}", at, json_excerpt(json));
  const auto& text = json.get_ref<const std::string&>();
  const auto found = std::ranges::find(kDTypes, text, &DTypeInfo::name);
  require<DataError>(found != kDTypes.end(), "{}: unknown dtype {}", at, json_excerpt(json));
  return *found;
}

uint64_t size_from(const JsonValue& json, const std::string& at) {
  require<DataError>(json.is_number_unsigned(), "{}: expected a size, got {}", at, json_excerpt(json));
  return json.get<uint64_t>();
}

Shape shape_from(const JsonValue& json, const std::string& at) {
  require<DataError>(json.is_array(), "{}: shape: expected a list, got {}", at, json_excerpt(json));
  require<DataError>(json.size() <= Shape::kMaxRank, "{}: a shape of {} dims; at most {}", at, json.size(),
                     Shape::kMaxRank);
  std::vector<int64_t> dims;
  for (const JsonValue& dim : json) {
    const uint64_t size = size_from(dim, at + ": shape");
    require<DataError>(size <= uint64_t{1} << 40, "{}: a dimension of {}", at, size);
    dims.push_back(static_cast<int64_t>(size));
  }
  return Shape(dims);
}

// The bytes of all elements; nullopt if they exceed 2^63.
std::optional<uint64_t> bytes_of(const Shape& shape, uint64_t element) {
  unsigned __int128 bytes = element;
  for (const int64_t dim : shape.dims()) {
    bytes *= static_cast<uint64_t>(dim);
    if (bytes >> 63 != 0) return std::nullopt;
  }
  return static_cast<uint64_t>(bytes);
}

StoredTensor tensor_from(const std::string& name, const JsonValue& json, uint64_t data_bytes,
                         const std::string& where) {
  const std::string at = fmt::format("{}: tensor {}", where, json_excerpt(name));
  require<DataError>(json.is_object(), "{}: expected an object, got {}", at, json_excerpt(json));
  for (const char* member : {"dtype", "shape", "data_offsets"}) {
    require<DataError>(json.contains(member), "{}: {} is missing", at, member);
  }
  require<DataError>(json.size() == 3, "{}: it has members besides dtype, shape and data_offsets", at);
  const DTypeInfo& dtype = dtype_info(json["dtype"], at);
  StoredTensor tensor{.name = name, .dtype = std::string(dtype.name), .type = dtype.type};
  tensor.shape = shape_from(json["shape"], at);
  const JsonValue& offsets = json["data_offsets"];
  require<DataError>(offsets.is_array() && offsets.size() == 2, "{}: data_offsets: expected [begin, end], got {}", at,
                     json_excerpt(offsets));
  tensor.begin = size_from(offsets[0], at + ": data_offsets");
  tensor.end = size_from(offsets[1], at + ": data_offsets");
  require<DataError>(tensor.begin <= tensor.end && tensor.end <= data_bytes,
                     "{}: bytes {} to {} are not within the {} bytes of tensors that the file has", at, tensor.begin,
                     tensor.end, data_bytes);
  const auto bytes = bytes_of(tensor.shape, dtype.bytes);
  require<DataError>(bytes == tensor.end - tensor.begin, "{}: {}{} takes {} bytes, but it has {}", at, tensor.dtype,
                     tensor.shape, bytes ? fmt::format("{}", *bytes) : "more than 2^63", tensor.end - tensor.begin);
  return tensor;
}

std::map<std::string, std::string> metadata_from(const JsonValue& json, const std::string& where) {
  require<DataError>(json.is_object(), "{}: __metadata__: expected an object, got {}", where, json_excerpt(json));
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : json.items()) {
    require<DataError>(value.is_string(), "{}: __metadata__: {}: expected a text, got {}", where, json_excerpt(key),
                       json_excerpt(value));
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

// DataError unless every byte belongs to exactly one tensor.
void check_order(const std::vector<StoredTensor>& tensors, uint64_t data_bytes, const std::string& where) {
  uint64_t at = 0;
  for (const StoredTensor& t : tensors) {
    require<DataError>(t.begin >= at, "{}: tensor {} begins at byte {}, within the one before it, which ends at {}",
                       where, json_excerpt(t.name), t.begin, at);
    require<DataError>(t.begin == at, "{}: bytes {} to {}, before tensor {}, belong to no tensor", where, at, t.begin,
                       json_excerpt(t.name));
    at = t.end;
  }
  require<DataError>(at == data_bytes, "{}: its tensors end at byte {} of {}", where, at, data_bytes);
}

// IEEE binary16: a sign, 5 bits of exponent, 10 of fraction.
float from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits >> 15) << 31, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent > 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float value = std::ldexp(static_cast<float>(fraction), -24);  // subnormal or zero
  return sign != 0 ? -value : value;
}

}  // namespace

std::string_view stored_name(StoredType type) { return type == StoredType::Other ? "other" : dtype_info(type).name; }

size_t stored_bytes(StoredType type) { return dtype_info(type).bytes; }

SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_bytes, const std::string& where) {
  constexpr int kDepth = 3;  // the header, a tensor, its shape
  const JsonValue json = parse_json(text, where, kDepth);
  require<DataError>(json.is_object(), "{}: the header is not an object of tensors", where);
  SafetensorsHeader header;
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") {
      header.metadata = metadata_from(value, where);
    } else {
      header.tensors.push_back(tensor_from(name, value, data_bytes, where));
    }
  }
  std::ranges::sort(header.tensors, {}, [](const StoredTensor& t) { return std::pair(t.begin, t.end); });
  check_order(header.tensors, data_bytes, where);
  return header;
}

SafetensorsFile::SafetensorsFile(const fs::path& path) : file_(path, File::Mode::Read) {
  const std::string where = path.string();
  require<DataError>(fs::is_regular_file(path), "{}: not a file", where);
  const uint64_t size = file_.size();
  uint64_t length = 0;
  require<DataError>(size >= sizeof(length), "{}: {} bytes are too few for a safetensors file", where, size);
  file_.read_at(0, &length, sizeof(length));
  require<DataError>(length <= size - sizeof(length),
                     "{}: a header of {} bytes in a file of {}: cut off, or no "
                     "safetensors file",
                     where, length, size);
  require<DataError>(length <= kMaxHeaderBytes, "{}: a header of {} bytes; at most {}", where, length, kMaxHeaderBytes);
  std::string text(length, '\0');
  file_.read_at(sizeof(length), text.data(), text.size());
  data_begin_ = sizeof(length) + length;
  header_ = parse_safetensors_header(text, size - data_begin_, where);
}

void SafetensorsFile::read(const StoredTensor& tensor, std::span<float> into, uint64_t first) const {
  require<DataError>(tensor.type != StoredType::Other, "{}: tensor {} is {}; weft reads F32, BF16 and F16",
                     path().string(), tensor.name, tensor.dtype);
  require<InternalError>(first + into.size() <= static_cast<uint64_t>(tensor.shape.elements()),
                         "{} values from {} on of {}{}", into.size(), first, tensor.name, tensor.shape);
  const uint64_t begin = data_begin_ + tensor.begin + first * stored_bytes(tensor.type);
  if (tensor.type == StoredType::F32) return file_.read_at(begin, into.data(), into.size_bytes());
  std::vector<uint16_t> piece(std::min<size_t>(into.size(), 1 << 20));
  for (size_t at = 0; at < into.size(); at += piece.size()) {
    piece.resize(std::min(piece.size(), into.size() - at));
    file_.read_at(begin + at * sizeof(uint16_t), piece.data(), piece.size() * sizeof(uint16_t));
    const bool half = tensor.type == StoredType::F16;
    std::ranges::transform(piece, into.begin() + static_cast<std::ptrdiff_t>(at), [half](uint16_t bits) {
      return half ? from_half(bits) : std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    });
  }
}

namespace {

fs::path single_file(const fs::path& directory) { return directory / "model.safetensors"; }
fs::path index_file(const fs::path& directory) { return directory / "model.safetensors.index.json"; }

}  // namespace

bool has_safetensors(const fs::path& directory) {
  return fs::exists(single_file(directory)) || fs::exists(index_file(directory));
}

SafetensorsModel::SafetensorsModel(const fs::path& directory) {
  const fs::path single = single_file(directory), index = index_file(directory);
  require<DataError>(fs::is_directory(directory), "{}: no such directory", directory.string());
  if (fs::exists(single)) {
    add_file(single);
  } else if (fs::exists(index)) {
    read_index(directory, index);
  } else {
    throw DataError(
        fmt::format("{}: neither model.safetensors nor model.safetensors.index.json is here", directory.string()),
        "of pytorch_model.bin this makes it: python -c \"import torch; from safetensors.torch import save_file; "
        "save_file({k: v.clone() for k, v in torch.load('pytorch_model.bin', weights_only=True).items()}, "
        "'model.safetensors', {'format': 'pt'})\"");
  }
}

void SafetensorsModel::add_file(const fs::path& path) {
  const SafetensorsFile& file = files_.emplace_back(path);
  for (const StoredTensor& tensor : file.header().tensors) {
    const auto [other, is_new] = tensors_.emplace(tensor.name, Place{files_.size() - 1, tensor});
    require<DataError>(is_new, "{}: tensor {} is in {} too", path.string(), json_excerpt(tensor.name),
                       files_[other->second.file].path().string());
  }
}

void SafetensorsModel::read_index(const fs::path& directory, const fs::path& index) {
  const std::string where = index.string();
  const JsonValue json = parse_json(read_file(index), where, 8);
  require<DataError>(json.is_object() && json.contains("weight_map") && json["weight_map"].is_object(),
                     "{}: expected an object with weight_map, an object of tensor: file", where);
  std::map<std::string, std::string> files;  // file of each tensor
  std::set<std::string> names;
  for (const auto& [tensor, file] : json["weight_map"].items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    const bool plain = !name.empty() && name.find('/') == std::string::npos && name[0] != '.';
    require<DataError>(plain, "{}: tensor {}: {} is no file of this directory", where, json_excerpt(tensor),
                       json_excerpt(file));
    files[tensor] = name;
    names.insert(name);
  }
  require<DataError>(!names.empty(), "{}: it names no tensor", where);
  for (const std::string& name : names) add_file(directory / name);
  for (const auto& [tensor, file] : files) {
    const auto found = tensors_.find(tensor);
    const bool there = found != tensors_.end() && files_[found->second.file].path().filename() == file;
    require<DataError>(there, "{}: tensor {} is not in {}", where, json_excerpt(tensor), file);
  }
  for (const auto& [tensor, place] : tensors_) {
    require<DataError>(files.contains(tensor), "{}: it does not name tensor {} of {}", where, json_excerpt(tensor),
                       files_[place.file].path().filename().string());
  }
}

std::string SafetensorsModel::where(const Place& place) const {
  return fmt::format("{}: tensor {}", files_[place.file].path().string(), place.tensor.name);
}

void SafetensorsModel::read(const Place& place, std::span<float> into, uint64_t first) const {
  files_[place.file].read(place.tensor, into, first);
}

uint64_t SafetensorsModel::bytes() const {
  uint64_t bytes = 0;
  for (const auto& [name, place] : tensors_) bytes += place.tensor.end - place.tensor.begin;
  return bytes;
}

}  // namespace weft
