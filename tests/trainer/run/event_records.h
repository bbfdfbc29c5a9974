// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files/crc32c.h"

namespace weft::test {

// What a TensorBoard event says.
struct EventRecord {
  double time = 0;
  int64_t step = 0;
  std::string file_version;
  bool starts_session = false;
  std::map<std::string, float> scalars;
  std::map<std::string, std::string> texts;
};

// A field of a protobuf message: integers and bit patterns in `value`, anything with a length in `bytes`.
struct ProtoField {
  uint64_t number = 0, value = 0;
  std::string_view bytes;
};

class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : left_(bytes) {}
  std::vector<ProtoField> fields() {
    std::vector<ProtoField> all;
    while (!left_.empty()) {
      const uint64_t key = varint();
      ProtoField field{.number = key >> 3};
      switch (key & 7) {
        case 0:
          field.value = varint();
          break;
        case 1:
          field.value = fixed(8);
          break;
        case 2:
          field.bytes = taken(varint());
          break;
        case 5:
          field.value = fixed(4);
          break;
        default:
          throw DataError(fmt::format("a field of wire type {}", key & 7));
      }
      all.push_back(field);
    }
    return all;
  }

 private:
  std::string_view taken(size_t size) {
    require<DataError>(size <= left_.size(), "{} bytes of {}", size, left_.size());
    const std::string_view bytes = left_.substr(0, size);
    left_.remove_prefix(size);
    return bytes;
  }
  uint64_t fixed(size_t size) {
    uint64_t value = 0;
    const std::string_view bytes = taken(size);
    for (size_t i = 0; i < size; ++i) value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(taken(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw DataError("an integer of more than 64 bits");
  }
  std::string_view left_;
};

// The events of a file. DataError if a length or a checksum is wrong, or if the last record is not whole.
std::vector<EventRecord> event_records(std::string_view file);

}  // namespace weft::test
