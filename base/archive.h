// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace weft {

// Numbers, texts and lists of them as bytes, one after another, for a program's own use: what wrote them reads them. A
// type names its members once, for both ways: template <class Archive> void archive(Archive& a) { a(x), a(y); }
class ArchiveWriter {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  void operator()(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(const T& value) { (*this)(static_cast<std::underlying_type_t<T>>(value)); }
  void operator()(const std::string& text) { (*this)(text.size()), bytes_ += text; }
  template <class T>
  requires std::is_arithmetic_v<T>
  void operator()(const std::vector<T>& values) {
    (*this)(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  template <class T, size_t N>
  void operator()(std::array<T, N>& values) {
    for (T& value : values) (*this)(value);
  }
  template <class T>
  requires(!std::is_arithmetic_v<T>) void operator()(std::vector<T>& values) {
    (*this)(values.size());
    for (T& value : values) (*this)(value);
  }
  template <class T>
  void operator()(std::map<std::string, T>& values) {
    (*this)(values.size());
    for (auto& [name, value] : values) (*this)(name), (*this)(value);
  }
  template <class T>
  requires requires(T& value, ArchiveWriter& a) { value.archive(a); }
  void operator()(T& value) { value.archive(*this); }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

// DataError if the bytes end before the value that is read, or are no value of its type.
class ArchiveReader {
 public:
  explicit ArchiveReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  requires std::is_arithmetic_v<T>
  void operator()(T& value) { std::memcpy(&value, take(sizeof value), sizeof value); }
  void operator()(bool& value) {
    const char byte = *take(1);
    require<DataError>(byte == 0 || byte == 1, "a yes or no that is neither");
    value = byte == 1;
  }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(T& value) {
    std::underlying_type_t<T> number;
    (*this)(number);
    value = static_cast<T>(number);
  }
  void operator()(std::string& text) {
    const size_t size = count(1);
    text.assign(take(size), size);
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void operator()(std::vector<T>& values) {
    values.resize(count(sizeof(T)));
    if (!values.empty()) std::memcpy(values.data(), take(values.size() * sizeof(T)), values.size() * sizeof(T));
  }
  template <class T, size_t N>
  void operator()(std::array<T, N>& values) {
    for (T& value : values) (*this)(value);
  }
  template <class T>
  requires(!std::is_arithmetic_v<T>) void operator()(std::vector<T>& values) {
    values.clear();
    for (size_t left = count(1); left > 0; --left) (*this)(values.emplace_back());
  }
  template <class T>
  void operator()(std::map<std::string, T>& values) {
    values.clear();
    for (size_t left = count(1); left > 0; --left) {
      std::string name;
      (*this)(name), (*this)(values[name]);
    }
  }
  template <class T>
  requires requires(T& value, ArchiveReader& a) { value.archive(a); }
  void operator()(T& value) { value.archive(*this); }
  bool at_end() const { return rest_.empty(); }

 private:
  const char* take(size_t bytes) {
    require<DataError>(bytes <= rest_.size(), "unexpected end of data");
    const char* at = rest_.data();
    rest_.remove_prefix(bytes);
    return at;
  }
  // The length of a list whose elements have at least `element_bytes` each. Bounded by the bytes that are left.
  size_t count(size_t element_bytes) {
    size_t n = 0;
    (*this)(n);
    require<DataError>(n <= rest_.size() / element_bytes, "unexpected end of data");
    return n;
  }

  std::string_view rest_;
};

}  // namespace weft
