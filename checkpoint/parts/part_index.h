// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/parts/stretch.h"

namespace weft {

// An array in a file: stretches of one buffer's tensors, end to end.
struct StoredArray {
  std::string buffer;
  DType dtype = DType::F32;  // F32 or F64
  std::vector<Stretch> stretches;
  uint64_t offset = 0;           // first byte, from the beginning of the file
  std::vector<uint64_t> hashes;  // XXH3 of each block of `block_bytes`
  int64_t elements() const;
  uint64_t bytes() const { return static_cast<uint64_t>(elements()) * size_of(dtype); }
};

// Bytes [begin, end) of an array or a file.
struct ByteRange {
  uint64_t begin = 0, end = 0;
  uint64_t size() const { return end - begin; }
};

// The index of a part's file. Each block of `block_bytes` of an array has its own checksum, and the last block may be
// shorter: to read a piece of an array, read the blocks around it.
struct PartIndex {
  static constexpr uint64_t kBlock = 1 << 20;
  uint64_t block_bytes = kBlock;  // a multiple of 8
  std::vector<StoredArray> arrays;
};

// The index as JSON. Its length does not depend on the checksums, so that room is left for it before they are known.
std::string index_text(const PartIndex& index);

// Checks that stretches lie inside their tensors, and arrays inside a file of `file_bytes`. DataError with the reason;
// the caller adds the file.
PartIndex parse_index(std::string_view text, uint64_t file_bytes);

// Parses the index in a format 1 manifest, which lists the boxes of each file, each with one checksum.
PartIndex parse_slices(const nlohmann::ordered_json& slices, uint64_t file_bytes);

// Reads a checksum; DataError unless it is 16 hexadecimal digits.
uint64_t hash_from(const nlohmann::ordered_json& json);

}  // namespace weft
