// SPDX-License-Identifier: Apache-2.0
// A range of addresses with two views of the same pages: one for the program, one for the simulator.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::cuda_device {

class Arena {
 public:
  // Takes `reserve` bytes of addresses; pages are taken when first written. `access`: whether the host may use the
  // program's view. Throws std::runtime_error if the system refuses the addresses.
  Arena(size_t reserve, bool access);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Returns addresses never returned before, with a gap behind them; 0 if they are used up.
  uint64_t take(size_t bytes, size_t alignment);
  // Returns pages that lie wholly inside to the system. The addresses stay taken.
  void drop_pages(uint64_t address, size_t bytes);

  bool contains(uint64_t address) const { return address - base_ < reserve_; }
  std::ptrdiff_t to_alias() const { return to_alias_; }

  static constexpr size_t kGap = 256;  // so that an access just past the end hits no neighbour

 private:
  int file_ = -1;
  uint64_t base_ = 0, top_ = 0;
  size_t reserve_ = 0;
  std::ptrdiff_t to_alias_ = 0;
};

}  // namespace weft::cuda_device
