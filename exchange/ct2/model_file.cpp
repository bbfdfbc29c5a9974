// SPDX-License-Identifier: Apache-2.0
#include "exchange/ct2/model_file.h"

#include <bit>

#include "base/error.h"
#include "checkpoint/safetensors/writer.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written without a change of byte order");

constexpr uint32_t kFormatVersion = 6;

template <class T>
std::string bytes_of(T number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

std::string counted_text(std::string_view text) {
  require<InternalError>(text.size() < UINT16_MAX, "a name of {} bytes", text.size());
  return bytes_of(static_cast<uint16_t>(text.size() + 1)) + std::string(text) + '\0';
}

// The numbers by which the file names types.
uint8_t type_number(float) { return 0; }
uint8_t type_number(int8_t) { return 1; }
uint8_t type_number(int16_t) { return 2; }
uint8_t type_number(int32_t) { return 3; }
uint8_t type_number(StoredType type) {
  require<InternalError>(type == StoredType::F32 || type == StoredType::BF16, "values are written as f32 or bf16");
  return type == StoredType::F32 ? type_number(0.0f) : 5;
}

}  // namespace

Ct2ModelFile::Ct2ModelFile(fs::path path, std::string_view specification, uint32_t revision, size_t variables)
    : path_(std::move(path)), file_(path_), missing_(variables) {
  put(bytes_of(kFormatVersion) + counted_text(specification) + bytes_of(revision) +
      bytes_of(static_cast<uint32_t>(variables)));
}

void Ct2ModelFile::put(std::string_view bytes) {
  file_.file().write_at(at_, bytes.data(), bytes.size());
  at_ += bytes.size();
}

void Ct2ModelFile::begin_variable(const std::string& name, const Shape& shape, uint8_t type, size_t bytes_of_element) {
  require<InternalError>(missing_ > 0, "{}: all variables are written", path_.string());
  --missing_;
  const int64_t bytes = shape.elements() * static_cast<int64_t>(bytes_of_element);
  require<InternalError>(bytes <= kMostCt2Bytes, "{}: {} takes {} bytes", path_.string(), name, bytes);
  std::string head = counted_text(name) + static_cast<char>(shape.rank());
  for (const int64_t dim : shape.dims()) head += bytes_of(static_cast<uint32_t>(dim));
  put(head + static_cast<char>(type) + bytes_of(static_cast<uint32_t>(bytes)));
}

void Ct2ModelFile::write(const Ct2Attribute& attribute) {
  std::visit(
      [&](auto value) {
        begin_variable(attribute.name, {}, type_number(value), sizeof(value));
        put(bytes_of(value));
      },
      attribute.value);
}

void Ct2ModelFile::write(const std::string& name, const Shape& shape, StoredType type, std::span<const float> values) {
  require<InternalError>(std::ssize(values) == shape.elements(), "{}: {} values for {}{}", path_.string(),
                         values.size(), name, shape);
  begin_variable(name, shape, type_number(type), stored_bytes(type));
  at_ = write_values(file_.file(), at_, type, values);
}

void Ct2ModelFile::finish(std::span<const Ct2Alias> aliases) {
  require<InternalError>(missing_ == 0, "{}: {} variables are missing", path_.string(), missing_);
  put(bytes_of(static_cast<uint32_t>(aliases.size())));
  for (const auto& [alias, name] : aliases) put(counted_text(alias) + counted_text(name));
  file_.commit();
}

}  // namespace weft
