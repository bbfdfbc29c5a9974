// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "kernels/tensor.h"

namespace weft {

// The element types that are read; files may hold others (masks of bytes).
enum class StoredType : uint8_t { F32, BF16, F16, Other };
std::string_view stored_name(StoredType type);  // "F32", as in the file
size_t stored_bytes(StoredType type);           // per element; not for Other

// A tensor in a file: row-major, little-endian.
struct StoredTensor {
  std::string name;
  std::string dtype;  // as in the file: F32, BOOL, ...
  StoredType type = StoredType::Other;
  Shape shape;
  uint64_t begin = 0, end = 0;  // bytes, from the end of the header
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;            // in the order of their bytes
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

// Parses the header of a file of tensors, which may be hostile; `data_bytes` follow it. Refused with a DataError that
// begins with `where` and names the tensor: invalid JSON, or JSON that is too deep or has a name twice; members that
// are missing, unknown or of another type; an unknown dtype; a shape of more than Shape::kMaxRank dims or 2^63 bytes;
// offsets that do not fit the shape, overlap, leave a gap, or lie outside the file.
SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_bytes, const std::string& where);

// One file: eight bytes with the header's length, the header, the tensors. Nothing but the header is held in memory.
class SafetensorsFile {
 public:
  static constexpr uint64_t kMaxHeaderBytes = 16 << 20;  // a tensor takes about 120 bytes
  explicit SafetensorsFile(const fs::path& path);

  const fs::path& path() const { return file_.path(); }
  const SafetensorsHeader& header() const { return header_; }
  // The tensor's values from element `first` on as fp32, which holds each of them exactly. DataError if its dtype is
  // none of F32, BF16 and F16.
  void read(const StoredTensor& tensor, std::span<float> into, uint64_t first = 0) const;

 private:
  File file_;
  SafetensorsHeader header_;
  uint64_t data_begin_ = 0;
};

// True if a directory holds a safetensors model.
bool has_safetensors(const fs::path& directory);

// The tensors of a directory: model.safetensors, or the files that model.safetensors.index.json names.
class SafetensorsModel {
 public:
  explicit SafetensorsModel(const fs::path& directory);

  // The tensors by name; where() is "FILE: NAME", for messages.
  struct Place {
    size_t file = 0;
    StoredTensor tensor;
  };
  const std::map<std::string, Place>& tensors() const { return tensors_; }
  std::string where(const Place& place) const;
  void read(const Place& place, std::span<float> into, uint64_t first = 0) const;
  // The metadata of the first file.
  const std::map<std::string, std::string>& metadata() const { return files_.front().header().metadata; }
  uint64_t bytes() const;  // sum over all tensors

 private:
  void add_file(const fs::path& path);
  void read_index(const fs::path& directory, const fs::path& index);

  std::vector<SafetensorsFile> files_;
  std::map<std::string, Place> tensors_;
};

}  // namespace weft
