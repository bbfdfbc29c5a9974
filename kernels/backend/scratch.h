// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft {

// Cuts an operation's workspace into pieces that start at whole cache lines. A Scratch without memory only counts, so
// the code that lays the pieces out also gives their size.
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(std::byte* memory) : memory_(memory) {}

  template <class T>
  T* take(int64_t elements) {
    std::byte* piece = memory_ ? memory_ + taken_ : nullptr;
    taken_ += (static_cast<size_t>(elements) * sizeof(T) + kLine - 1) / kLine * kLine;
    return reinterpret_cast<T*>(piece);
  }
  size_t taken() const { return taken_; }
  // The i-th of equal parts, for worker i.
  Scratch part(int64_t i, size_t bytes) const {
    return Scratch(memory_ ? memory_ + static_cast<size_t>(i) * bytes : nullptr);
  }

 private:
  static constexpr size_t kLine = 64;
  std::byte* memory_ = nullptr;
  size_t taken_ = 0;
};

// Bytes that lay_out(scratch) takes.
template <class LayOut>
size_t scratch_bytes(LayOut&& lay_out) {
  Scratch counting;
  lay_out(counting);
  return counting.taken();
}

}  // namespace weft
