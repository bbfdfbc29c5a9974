// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace weft {

// a / b, rounded up, of numbers that are not negative.
constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace weft
