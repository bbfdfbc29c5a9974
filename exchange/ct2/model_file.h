// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/files/new_file.h"
#include "checkpoint/safetensors/safetensors.h"

namespace weft {

// A variable without dims, with which a model says how it computes.
struct Ct2Attribute {
  std::string name;
  std::variant<float, int8_t, int16_t, int32_t> value;
};

// A second name of a variable.
struct Ct2Alias {
  std::string alias, name;
};

inline constexpr int64_t kMostCt2Bytes = UINT32_MAX;  // a variable has at most so many

// Writes model.bin of CTranslate2, little-endian throughout:
//   u32   6, the version of the format
//   text  the name of the specification (TransformerSpec, ...), then u32, its revision
//   u32   the number of variables; of each: text, its name; u8, its rank; u32, each dim; u8, its type; u32, its bytes;
//         the values, row-major
//   u32   the number of aliases; of each: text, the alias; text, the variable's name
// A text is u16, its length with the zero behind it; the characters; a zero. Types are f32 0, i8 1, i16 2, i32 3, f16
// 4, bf16 5. The file has no name until finish(); without finish() it is deleted.
class Ct2ModelFile {
 public:
  // `variables` of them will be written.
  Ct2ModelFile(fs::path path, std::string_view specification, uint32_t revision, size_t variables);

  void write(const Ct2Attribute& attribute);
  // `type`: F32 or BF16, to which values are rounded to nearest even. InternalError if they are not of this shape, or
  // more than kMostCt2Bytes.
  void write(const std::string& name, const Shape& shape, StoredType type, std::span<const float> values);
  // DataError if the disk is full, InternalError if variables are missing.
  void finish(std::span<const Ct2Alias> aliases);

 private:
  void put(std::string_view bytes);
  void begin_variable(const std::string& name, const Shape& shape, uint8_t type, size_t bytes_of_element);

  fs::path path_;
  NewFile file_;
  uint64_t at_ = 0;
  size_t missing_ = 0;  // variables that are still to be written
};

}  // namespace weft
