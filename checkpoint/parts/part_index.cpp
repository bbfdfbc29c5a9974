// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/parts/part_index.h"

#include <limits>
#include <map>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

std::vector<int64_t> dims_of(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

std::vector<int64_t> integers_from(const Json& json) {
  require<DataError>(json.is_array(), "{} is no list", json_excerpt(json));
  std::vector<int64_t> integers;
  for (const Json& value : json) integers.push_back(integer_from<int64_t>(value));
  return integers;
}

Shape shape_from(const Json& json) {
  constexpr int64_t kMost = int64_t{1} << 50;  // elements
  const std::vector<int64_t> dims = integers_from(json);
  require<DataError>(dims.size() <= Shape::kMaxRank, "a shape of {} dims", dims.size());
  int64_t elements = 1;
  for (const int64_t d : dims) {
    require<DataError>(d >= 0 && d <= kMost / std::max<int64_t>(1, elements), "a dimension of {}", d);
    elements *= std::max<int64_t>(1, d);
  }
  return Shape(dims);
}

DType dtype_from(const Json& json) {
  const auto text = json.get<std::string>();
  require<DataError>(text == "f32" || text == "f64", "dtype {}", text);
  return text == "f32" ? DType::F32 : DType::F64;
}

// The stretch of a whole box, which must lie in its tensor.
Stretch box_from(const Json& json) {
  Stretch box{.name = json.at("name").get<std::string>(),
              .shape = shape_from(json.at("shape")),
              .origin = integers_from(json.at("origin")),
              .extent = shape_from(json.at("extent"))};
  const int rank = box.shape.rank();
  require<DataError>(static_cast<int>(box.origin.size()) == rank && box.extent.rank() == rank, "ranks of {} disagree",
                     box.name);
  for (int d = 0; d < rank; ++d) {
    const bool inside = box.origin[d] >= 0 && box.origin[d] <= box.shape[d] - box.extent[d];
    require<DataError>(inside, "a box of {} lies outside the tensor", box.name);
  }
  box.end = box.extent.elements();
  return box;
}

Stretch stretch_from(const Json& json, const std::vector<Stretch>& boxes) {
  const auto box = integer_from<uint64_t>(json.at(0));
  const auto begin = integer_from<int64_t>(json.at(1)), end = integer_from<int64_t>(json.at(2));
  require<DataError>(box < boxes.size(), "a stretch of tensor {}, of {}", box, boxes.size());
  Stretch stretch = boxes[box];
  require<DataError>(begin >= 0 && begin < end && end <= stretch.end, "elements {} to {} of {}, which has {}", begin,
                     end, stretch.name, stretch.end);
  stretch.begin = begin, stretch.end = end;
  return stretch;
}

// A hostile index may state any block size, so no sum with it is formed: it could overflow.
uint64_t blocks_in(uint64_t bytes, uint64_t block_bytes) { return bytes == 0 ? 0 : 1 + (bytes - 1) / block_bytes; }

// Elements are counted piece by piece, so that no sum of them overflows.
void check_array(const StoredArray& array, uint64_t file_bytes, uint64_t block_bytes) {
  uint64_t room = file_bytes;
  for (const Stretch& stretch : array.stretches) {
    const uint64_t bytes = static_cast<uint64_t>(stretch.elements()) * size_of(array.dtype);
    require<DataError>(bytes <= room, "{} of {} is larger than the file", array.buffer, stretch.name);
    room -= bytes;
  }
  require<DataError>(array.offset <= room, "an array of {} lies outside the file", array.buffer);
  const uint64_t blocks = blocks_in(array.bytes(), block_bytes);
  require<DataError>(array.hashes.size() == blocks, "{} checksums for {} blocks of {}", array.hashes.size(), blocks,
                     array.buffer);
}

StoredArray array_from(const Json& json, const std::vector<Stretch>& boxes) {
  StoredArray array{.buffer = json.at("buffer").get<std::string>(),
                    .dtype = dtype_from(json.at("dtype")),
                    .offset = integer_from<uint64_t>(json.at("offset"))};
  for (const Json& stretch : json.at("stretches")) array.stretches.push_back(stretch_from(stretch, boxes));
  for (const Json& hash : json.at("hashes")) array.hashes.push_back(hash_from(hash));
  return array;
}

// The boxes that the arrays' stretches lie in. Each is stored once, since all buffers have the same boxes.
class BoxTable {
 public:
  size_t of(const Stretch& stretch) {
    const Json box = {{"name", stretch.name},
                      {"shape", dims_of(stretch.shape)},
                      {"origin", stretch.origin},
                      {"extent", dims_of(stretch.extent)}};
    const auto [at, is_new] = places_.emplace(box.dump(), boxes_.size());
    if (is_new) boxes_.push_back(box);
    return at->second;
  }
  const Json& boxes() const { return boxes_; }

 private:
  Json boxes_ = Json::array();
  std::map<std::string, size_t> places_;
};

}  // namespace

int64_t StoredArray::elements() const {
  int64_t elements = 0;
  for (const Stretch& stretch : stretches) elements += stretch.elements();
  return elements;
}

uint64_t hash_from(const Json& json) {
  const auto text = json.get<std::string>();
  const bool hex = text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  require<DataError>(hex, "checksum '{}'", text);
  return std::stoull(text, nullptr, 16);
}

std::string index_text(const PartIndex& index) {
  BoxTable boxes;
  Json arrays = Json::array();
  for (const StoredArray& array : index.arrays) {
    Json stretches = Json::array(), hashes = Json::array();
    for (const Stretch& s : array.stretches) stretches.push_back({boxes.of(s), s.begin, s.end});
    for (uint64_t i = 0; i < blocks_in(array.bytes(), index.block_bytes); ++i) {
      hashes.push_back(hash_hex(i < array.hashes.size() ? array.hashes[i] : 0));
    }
    arrays.push_back({{"buffer", array.buffer},
                      {"dtype", std::string(name(array.dtype))},
                      {"offset", array.offset},
                      {"stretches", stretches},
                      {"hashes", hashes}});
  }
  return Json{{"block_bytes", index.block_bytes}, {"tensors", boxes.boxes()}, {"arrays", arrays}}.dump();
}

PartIndex parse_index(std::string_view text, uint64_t file_bytes) {
  try {
    const auto json = parse_json<Json>(text, "the index");
    PartIndex index{.block_bytes = integer_from<uint64_t>(json.at("block_bytes"))};
    require<DataError>(index.block_bytes >= 8 && index.block_bytes % 8 == 0, "blocks of {} bytes", index.block_bytes);
    std::vector<Stretch> boxes;
    for (const Json& box : json.at("tensors")) boxes.push_back(box_from(box));
    for (const Json& array : json.at("arrays")) {
      index.arrays.push_back(array_from(array, boxes));
      check_array(index.arrays.back(), file_bytes, index.block_bytes);
    }
    return index;
  } catch (const Json::exception& error) {
    throw DataError(error.what());
  }
}

PartIndex parse_slices(const Json& slices, uint64_t file_bytes) {
  PartIndex index{.block_bytes = std::numeric_limits<uint64_t>::max()};
  for (const Json& slice : slices) {
    StoredArray array{.buffer = slice.at("buffer").get<std::string>(),
                      .dtype = dtype_from(slice.at("dtype")),
                      .stretches = {box_from(slice)},
                      .offset = integer_from<uint64_t>(slice.at("offset"))};
    if (array.stretches[0].elements() > 0) array.hashes = {hash_from(slice.at("hash"))};
    check_array(array, file_bytes, index.block_bytes);
    index.arrays.push_back(std::move(array));
  }
  return index;
}

}  // namespace weft
