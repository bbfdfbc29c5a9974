// SPDX-License-Identifier: Apache-2.0
#include "tests/trainer/run/event_records.h"

#include <bit>
#include <cstring>

namespace weft::test {
namespace {

template <class T>
T number_at(std::string_view bytes, size_t at) {
  T value;
  require<DataError>(at + sizeof value <= bytes.size(), "a record is cut");
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void check(std::string_view bytes, uint32_t stored) {
  const uint32_t crc = crc32c(bytes);
  require<DataError>(stored == ((crc >> 15) | (crc << 17)) + 0xa282ead8U, "a checksum is wrong");
}

void read_value(std::string_view bytes, EventRecord& event) {
  std::string tag, text;
  bool is_text = false;
  float simple = 0;
  for (const ProtoField& field : ProtoReader(bytes).fields()) {
    if (field.number == 1) tag = field.bytes;
    if (field.number == 2) simple = std::bit_cast<float>(static_cast<uint32_t>(field.value));
    if (field.number != 8) continue;
    is_text = true;
    for (const ProtoField& of_tensor : ProtoReader(field.bytes).fields()) {
      if (of_tensor.number == 8) text = of_tensor.bytes;
    }
  }
  if (is_text) {
    event.texts[tag] = text;
  } else {
    event.scalars[tag] = simple;
  }
}

EventRecord event_of(std::string_view bytes) {
  EventRecord event;
  for (const ProtoField& field : ProtoReader(bytes).fields()) {
    if (field.number == 1) event.time = std::bit_cast<double>(field.value);
    if (field.number == 2) event.step = static_cast<int64_t>(field.value);
    if (field.number == 3) event.file_version = field.bytes;
    if (field.number == 7) event.starts_session = field.bytes == "\x08\x01";
    if (field.number != 5) continue;
    for (const ProtoField& value : ProtoReader(field.bytes).fields()) read_value(value.bytes, event);
  }
  return event;
}

}  // namespace

std::vector<EventRecord> event_records(std::string_view file) {
  std::vector<EventRecord> events;
  while (!file.empty()) {
    const auto size = number_at<uint64_t>(file, 0);
    check(file.substr(0, 8), number_at<uint32_t>(file, 8));
    const auto crc = number_at<uint32_t>(file, 12 + size);
    check(file.substr(12, size), crc);
    events.push_back(event_of(file.substr(12, size)));
    file.remove_prefix(16 + size);
  }
  return events;
}

}  // namespace weft::test
