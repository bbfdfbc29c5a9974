// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <hdf5.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"

// HDF5 gives structure: groups, attributes, and contiguous arrays with their offset in the file. The arrays' bytes are
// written and read without it, by pread, pwrite or mmap: HDF5 has one lock for the whole process. Errors are DataErrors
// with the path and HDF5's own message; nothing is printed. Files carry no time stamps: equal content is equal bytes.
namespace weft {

// An identifier of the HDF5 library, closed by `Close` on destruction.
template <herr_t (*Close)(hid_t)>
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  explicit Hdf5Handle(hid_t id) : id_(id) {}
  ~Hdf5Handle() { reset(); }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, H5I_INVALID_HID);
    }
    return *this;
  }
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;

  hid_t get() const { return id_; }
  hid_t release() { return std::exchange(id_, H5I_INVALID_HID); }
  explicit operator bool() const { return id_ >= 0; }

 private:
  void reset() noexcept {
    if (id_ >= 0) Close(std::exchange(id_, H5I_INVALID_HID));
  }
  hid_t id_ = H5I_INVALID_HID;
};

// Little-endian on disk on every machine.
enum class Hdf5Type { U8, U16, U32, U64, I32, I64, F32, F64 };
size_t element_bytes(Hdf5Type type);

struct Hdf5Array {
  Hdf5Type type = Hdf5Type::U8;
  std::vector<int64_t> shape;
  uint64_t offset = 0;  // of the first element in the file; 0 for an array without elements
  uint64_t bytes = 0;
};

// One open file. Paths within it are absolute ("/", "/source/tokens"). Use one object from one thread at a time.
class Hdf5File {
 public:
  // Replaces an existing file. Arrays of at least `alignment` bytes begin at multiples of it.
  static Hdf5File create(const fs::path& path, uint64_t alignment = 1);
  static Hdf5File open(const fs::path& path);  // read-only, not locked

  void create_group(const std::string& group);
  // Contiguous, its space allocated now and not filled: write its bytes at array(path).offset after close().
  void create_array(const std::string& path, Hdf5Type type, std::span<const int64_t> shape);
  void set_attribute(const std::string& object, const std::string& name, int64_t value);
  void set_attribute(const std::string& object, const std::string& name, double value);
  void set_attribute(const std::string& object, const std::string& name, std::string_view value);

  // Refuses arrays that are chunked, compressed, stored elsewhere, of another type, or that leave the file.
  Hdf5Array array(const std::string& path) const;
  bool has_attribute(const std::string& object, const std::string& name) const;
  int64_t int_attribute(const std::string& object, const std::string& name) const;
  double double_attribute(const std::string& object, const std::string& name) const;
  std::string string_attribute(const std::string& object, const std::string& name) const;
  bool exists(const std::string& object) const;
  std::vector<std::string> children(const std::string& group) const;  // names, sorted

  void close();  // writes pending data; the destructor does too, but reports no errors
  const fs::path& path() const { return path_; }

 private:
  using FileHandle = Hdf5Handle<H5Fclose>;
  Hdf5File(fs::path path, FileHandle file) : path_(std::move(path)), file_(std::move(file)) {}

  fs::path path_;
  FileHandle file_;
};

}  // namespace weft
