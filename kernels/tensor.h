#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "kernels/dtype.h"

namespace weft {

enum class DeviceKind : uint8_t { Cpu, Cuda, Meta };

// Meta is the dry device: its tensors have a shape and no data, its operations stop after checks and cost accounting.
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

// Counted bytes on a device. `release` gives them back to their allocator, from any thread.
class Storage {
 public:
  Storage(void* data, size_t bytes, Device device, std::function<void()> release)
      : data_(data), bytes_(bytes), device_(device), release_(std::move(release)) {}
  ~Storage() {
    if (release_) release_();
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }  // nullptr on Meta
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

 private:
  void* data_;
  size_t bytes_;
  Device device_;
  std::function<void()> release_;
};

// A dense row-major view into counted storage. Copies share the data. Holds no autograd state.
// An empty tensor (no storage) stands for an optional argument that is absent.
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
  // The matrix view that most operations take: columns = last dim, rows = the product of the others.
  int64_t columns() const { return shape_.rank() == 0 ? 1 : shape_[-1]; }
  int64_t rows() const { return columns() == 0 ? 0 : elements() / columns(); }

  std::byte* raw() const { return storage_->data() + byte_offset_; }
  template <class T>
  T* data() const {
    if (dtype_ != DTypeOf<T>::value) wrong_type(DTypeOf<T>::value);
    return reinterpret_cast<T*>(raw());
  }
  template <class T>
  std::span<T> span() const {
    return {data<T>(), static_cast<size_t>(elements())};
  }

  Tensor view(Shape shape) const;                  // the same elements under another shape
  Tensor slice(int64_t begin, int64_t end) const;  // along the first dim
  Tensor flat(int64_t begin, Shape shape) const;   // elements begin .. begin + shape.elements() of the flat data
  std::string text() const;                        // f32[2, 3]
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  int64_t byte_offset() const { return byte_offset_; }

 private:
  [[noreturn]] void wrong_type(DType asked) const;

  std::shared_ptr<Storage> storage_;
  int64_t byte_offset_ = 0;
  Shape shape_;
  DType dtype_ = DType::F32;
};

// Whether a gradient output replaces what is there or adds to it.
enum class Accumulate : uint8_t { Overwrite, Add };

}  // namespace weft
