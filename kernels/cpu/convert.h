// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <type_traits>

#include "base/parallel_for.h"
#include "kernels/dtype.h"

namespace weft::cpu {

inline constexpr int64_t kElementGrain = 16384;  // elements below which a second thread does not pay

template <class To, class From>
To element_cast(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, BFloat16>) {
    return static_cast<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
void convert_elements(const From* from, To* to, int64_t n, int threads) {
  parallel_for(threads, n, kElementGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = element_cast<To>(from[i]);
  });
}

}  // namespace weft::cpu
