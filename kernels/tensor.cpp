// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/memory.h"

namespace weft {

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return "f32";
    case DType::BF16:
      return "bf16";
    case DType::F64:
      return "f64";
    case DType::I32:
      return "i32";
    case DType::I64:
      return "i64";
  }
  return "?";
}

size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::BF16:
      return 2;
    case DType::F32:
    case DType::I32:
      return 4;
    case DType::F64:
    case DType::I64:
      return 8;
  }
  return 0;
}

Shape::Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  require<InternalError>(dims.size() <= kMaxRank, "a tensor has at most {} dims, got {}", kMaxRank, dims.size());
  std::copy(dims.begin(), dims.end(), dims_.begin());
  for (const int64_t d : dims) require<InternalError>(d >= 0, "negative dimension in shape {}", *this);
}

int64_t Shape::elements() const {
  int64_t n = 1;
  for (const int64_t d : dims()) n *= d;
  return n;
}

std::string Shape::text() const { return fmt::format("[{}]", fmt::join(dims(), ", ")); }

bool Shape::operator==(const Shape& other) const { return std::ranges::equal(dims(), other.dims()); }

Storage::Storage(std::shared_ptr<MemoryPool> owner, const MemoryBlock& block, size_t bytes)
    : owner_(std::move(owner)), block_(block), bytes_(bytes), device_(owner_->device()) {}

Storage::~Storage() { owner_->take_back(block_, bytes_); }

Tensor::Tensor(std::shared_ptr<Storage> storage, int64_t byte_offset, Shape shape, DType dtype)
    : storage_(std::move(storage)), byte_offset_(byte_offset), shape_(shape), dtype_(dtype) {
  require<InternalError>(byte_offset_ >= 0 && static_cast<size_t>(byte_offset_) + bytes() <= storage_->bytes(),
                         "view {} at byte {} leaves its storage of {} bytes", *this, byte_offset_, storage_->bytes());
}

Tensor Tensor::view(Shape shape) const {
  require<InternalError>(storage_ && shape.elements() == elements(), "view of {} as {}", *this, shape);
  return {storage_, byte_offset_, shape, dtype_};
}

Tensor Tensor::slice(int64_t begin, int64_t end) const {
  require<InternalError>(storage_ && shape_.rank() > 0 && 0 <= begin && begin <= end && end <= shape_[0],
                         "slice {}..{} of {}", begin, end, *this);
  Shape shape = shape_;
  shape[0] = end - begin;
  const int64_t row = shape_[0] == 0 ? 0 : elements() / shape_[0];
  return {storage_, byte_offset_ + begin * row * static_cast<int64_t>(size_of(dtype_)), shape, dtype_};
}

Tensor Tensor::flat(int64_t begin, Shape shape) const {
  require<InternalError>(storage_ && 0 <= begin && begin + shape.elements() <= elements(), "flat {} + {} of {}", begin,
                         shape, *this);
  return {storage_, byte_offset_ + begin * static_cast<int64_t>(size_of(dtype_)), shape, dtype_};
}

std::string Tensor::text() const { return storage_ ? std::string(name(dtype_)) + shape_.text() : "(absent)"; }

void Tensor::wrong_type(DType asked) const {
  throw InternalError(fmt::format("tensor {} read as {}", text(), name(asked)));
}

void Tensor::not_on_host() const {
  throw InternalError(fmt::format("tensor {} is not in the host's memory: download it before reading it", text()));
}

}  // namespace weft
