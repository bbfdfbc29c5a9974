// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/logs/event_file.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/files/crc32c.h"
#include "base/output.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");
template <class T>
std::string bytes_of(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// A protobuf message that is being written (protobuf.dev/programming-guides/encoding): a field is its number and wire
// type, then its value.
class Message {
 public:
  Message& integer(int field, uint64_t value) {
    key(field, 0);
    varint(value);
    return *this;
  }
  Message& number(int field, double value) { return key(field, 1), append(bytes_of(value)); }
  Message& number(int field, float value) { return key(field, 5), append(bytes_of(value)); }
  Message& text(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    return append(value);
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, int wire_type) { varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire_type)); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  Message& append(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }

  std::string bytes_;
};

// The numbers of fields and of enum values in tensorflow's event.proto, summary.proto, tensor.proto, tensor_shape.proto
// and types.proto.
constexpr int kEventTime = 1, kEventStep = 2, kEventFileVersion = 3, kEventSummary = 5, kEventSessionLog = 7;
constexpr int kSummaryValue = 1, kValueTag = 1, kValueSimple = 2, kValueTensor = 8, kValueMetadata = 9;
constexpr int kMetadataPlugin = 1, kPluginName = 1;
constexpr int kTensorType = 1, kTensorShape = 2, kTensorStrings = 8, kShapeDimension = 2, kDimensionSize = 1;
constexpr int kSessionStatus = 1, kSessionStart = 1, kTypeString = 7;

// A checksum of bytes that hold checksums themselves is weak, so TFRecords store it rotated and shifted.
uint32_t masked_checksum(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8U; }

std::string record_of(const Message& event) {
  const std::string length = bytes_of(static_cast<uint64_t>(event.bytes().size()));
  return length + bytes_of(masked_checksum(length)) + event.bytes() + bytes_of(masked_checksum(event.bytes()));
}

Message event_at(int64_t step) {
  Message event;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  event.number(kEventTime, now.count()).integer(kEventStep, static_cast<uint64_t>(step));
  return event;
}

// TensorBoard shows texts as Markdown, and four spaces before a line as it is.
std::string verbatim(std::string_view text) {
  std::string out = "    ";
  for (const char c : text) out += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return out;
}

// A step's values, one below another.
class Values {
 public:
  void add_scalar(const std::string& tag, double value) {
    add(Message().text(kValueTag, tag).number(kValueSimple, static_cast<float>(value)));
  }
  void add_text(const std::string& tag, std::string_view text) {
    const Message plugin = Message().text(kPluginName, "text");
    const Message shape = Message().message(kShapeDimension, Message().integer(kDimensionSize, 1));
    const Message tensor =
        Message().integer(kTensorType, kTypeString).message(kTensorShape, shape).text(kTensorStrings, verbatim(text));
    add(Message()
            .text(kValueTag, tag)
            .message(kValueTensor, tensor)
            .message(kValueMetadata, Message().message(kMetadataPlugin, plugin)));
  }
  const Message& summary() const { return summary_; }

 private:
  void add(const Message& value) { summary_.message(kSummaryValue, value); }
  Message summary_;
};

double number_of(const Json& value) { return value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>(); }

void add_field(const std::string& tag, const Json& value, Values& values) {
  if (value.is_number() || value.is_boolean()) {
    values.add_scalar(tag, number_of(value));
  } else if (value.is_array() && value.size() == 3 && value[0].is_number()) {
    static constexpr std::array kOfRanks = {"min", "median", "max"};
    for (size_t i = 0; i < kOfRanks.size(); ++i) {
      values.add_scalar(fmt::format("{}/{}", tag, kOfRanks[i]), value[i].get<double>());
    }
  }
}

void add_generations(const Json& generations, Values& values) {
  for (const Json& made : generations) {
    const std::string tag = fmt::format("generation/{} (temperature {:g})", made["prompt"].get<std::string>(),
                                        made["temperature"].get<double>());
    values.add_text(printable(tag), printable(made["text"].get<std::string>()));
  }
}

}  // namespace

EventFile::EventFile(const fs::path& directory, int64_t attempt)
    : log_(
          "TensorBoard's events",
          [&] {
            std::error_code ignored;  // a folder that cannot be made is reported when the file is opened
            fs::create_directory(directory / "tensorboard", ignored);
            // TensorBoard reads the files in the order of their names.
            return directory / "tensorboard" / fmt::format("events.out.tfevents.{:010}.weft", attempt);
          }(),
          [](const File&) { return 0; }) {
  log_.append(0, record_of(event_at(0).text(kEventFileVersion, "brain.Event:2")));
}

void EventFile::write(const char* event, int64_t step, const Json& fields) {
  const std::string_view name = event;
  if (name == "start" || name == "roll_back") {
    log_.append(step, record_of(event_at(step + 1).message(kEventSessionLog,
                                                           Message().integer(kSessionStatus, kSessionStart))));
  }
  Values values;
  for (const auto& [key, value] : fields.items()) add_field(fmt::format("{}/{}", event, key), value, values);
  if (const auto texts = fields.find("generations"); texts != fields.end()) add_generations(*texts, values);
  if (!values.summary().bytes().empty()) {
    log_.append(step, record_of(event_at(step).message(kEventSummary, values.summary())));
  }
}

}  // namespace weft
