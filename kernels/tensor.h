// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "kernels/dtype.h"

namespace weft {

// Meta is the dry device: its tensors have a shape and no data, its operations stop after checks and cost accounting.
// Guarded, for tests, is a CPU whose memory the host cannot touch: reading it outside an operation ends the program.
enum class DeviceKind : uint8_t { Cpu, Cuda, Meta, Guarded };

struct Device {
  DeviceKind kind = DeviceKind::Cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

class Shape {
 public:
  static constexpr int kMaxRank = 6;
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t operator[](int dim) const { return dims_[dim < 0 ? dim + rank_ : dim]; }
  int64_t& operator[](int dim) { return dims_[dim < 0 ? dim + rank_ : dim]; }
  int64_t elements() const;
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  std::string text() const;  // [2, 3]
  bool operator==(const Shape& other) const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// A piece of a device's memory.
struct MemoryBlock {
  std::byte* address = nullptr;  // address for the host, which tensors return
  std::byte* reach = nullptr;    // address for the device's own code; differs on a guarded device only
  size_t bytes = 0;
};

class MemoryPool;

// Reference-counted bytes on a device. The thread that releases the last reference returns them to their pool.
class Storage {
 public:
  Storage(std::shared_ptr<MemoryPool> owner, const MemoryBlock& block, size_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  std::byte* device_raw() const { return block_.reach; }  // for the device's own code (Tensor::device_raw)

 private:
  friend class Tensor;
  std::shared_ptr<MemoryPool> owner_;
  MemoryBlock block_;
  size_t bytes_;
  Device device_;
};

// A dense row-major view into counted storage. Copies share the data. Holds no autograd state.
// An empty tensor (no storage) represents an optional argument that is absent.
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::shared_ptr<Storage> storage, int64_t byte_offset, Shape shape, DType dtype);

  explicit operator bool() const { return storage_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t size(int dim) const { return shape_[dim]; }
  int64_t elements() const { return shape_.elements(); }
  size_t bytes() const { return static_cast<size_t>(elements()) * size_of(dtype_); }
  Device device() const { return storage_ ? storage_->device() : Device{}; }
  bool meta() const { return device().kind == DeviceKind::Meta; }
  // Most operations take a tensor as a matrix: columns is the last dim, rows the product of the others.
  int64_t columns() const { return shape_.rank() == 0 ? 1 : shape_[-1]; }
  int64_t rows() const { return columns() == 0 ? 0 : elements() / columns(); }

  // The host's address of a CPU tensor. InternalError for any other device, whose memory `download` reads and `upload`
  // writes (kernels/transfer.h).
  std::byte* raw() const {
    if (device().kind != DeviceKind::Cpu || !storage_) not_on_host();
    return storage_->block_.address + byte_offset_;
  }
  template <class T>
  T* data() const {
    if (dtype_ != DTypeOf<T>::value) wrong_type(DTypeOf<T>::value);
    return reinterpret_cast<T*>(raw());
  }
  template <class T>
  std::span<T> span() const {
    return {data<T>(), static_cast<size_t>(elements())};
  }

  // For code that runs on the device, and for libraries that work on its memory: a backend's maths, a communicator.
  // Nothing else may read or write there.
  std::byte* device_raw() const { return storage_->device_raw() + byte_offset_; }
  template <class T>
  T* device_data() const {
    if (dtype_ != DTypeOf<T>::value) wrong_type(DTypeOf<T>::value);
    return reinterpret_cast<T*>(device_raw());
  }

  Tensor view(Shape shape) const;                  // the same elements under another shape
  Tensor slice(int64_t begin, int64_t end) const;  // along the first dim
  Tensor flat(int64_t begin, Shape shape) const;   // elements begin .. begin + shape.elements() of the flat data
  std::string text() const;                        // f32[2, 3]
  // An identity of the tensor's first byte, for comparison only; it may not be read.
  const void* place() const { return storage_ ? storage_->block_.address + byte_offset_ : nullptr; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }

 private:
  [[noreturn]] void wrong_type(DType asked) const;
  [[noreturn]] void not_on_host() const;

  std::shared_ptr<Storage> storage_;
  int64_t byte_offset_ = 0;
  Shape shape_;
  DType dtype_ = DType::F32;
};

// Whether an output replaces what is there or adds to it.
enum class Accumulate : uint8_t { Overwrite, Add };

// A gradient output: where it is written, and how. There is no tensor without a mode: the wrong one would add to memory
// that nothing has written, or lose what other operations contributed.
struct Gradient {
  Gradient() = default;  // absent: the operation does not compute this gradient
  Gradient(Tensor tensor, Accumulate mode) : tensor(std::move(tensor)), mode(mode) {}
  explicit operator bool() const { return static_cast<bool>(tensor); }

  Tensor tensor;
  Accumulate mode = Accumulate::Add;
};

}  // namespace weft

// Pass the object, not its text(): it is then formatted only if there is an error.
template <class Printed>
requires std::same_as<Printed, weft::Shape> || std::same_as<Printed, weft::Tensor>
struct fmt::formatter<Printed> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const Printed& printed, fmt::format_context& context) const {
    return std::ranges::copy(printed.text(), context.out()).out;
  }
};
