// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace weft {

// Which numbered messages of one sender have come, so that none is taken twice (the anti-replay window of RFC 4303,
// section 3.4.3). The network may change their order: the last 64 numbers are each told apart, and older ones are
// refused.
class ReplayWindow {
 public:
  // True the first time that this number, from 1, comes; false if it came before or is too old to tell.
  bool take(uint64_t number) {
    if (number > newest_) {
      const uint64_t further = number - newest_;
      seen_ = further < kNumbers ? seen_ << further | 1 : 1;
      newest_ = number;
      return true;
    }
    const uint64_t back = newest_ - number;
    if (number == 0 || back >= kNumbers || (seen_ >> back & 1) != 0) return false;
    seen_ |= uint64_t{1} << back;
    return true;
  }

 private:
  static constexpr uint64_t kNumbers = 64;
  uint64_t newest_ = 0;
  uint64_t seen_ = 0;  // bit i: newest_ - i has come
};

}  // namespace weft
