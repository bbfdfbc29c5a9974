// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

namespace weft {

// The first of `length` tokens, prompt and text, that a language model still sees: 0 while its positions hold all of
// them; then a full window drops its oldest half, and the rest is fed again from the first position. To drop one token
// at a time would mean to feed a whole window for each new token, since the keys and values of all others depend on it
// and on their positions. This way, a token is fed twice on average. The start depends on the length alone, and not on
// where the prompt ended.
constexpr int64_t window_start(int64_t length, int64_t positions) {
  const int64_t half = std::max<int64_t>(1, positions / 2);
  return length <= positions ? 0 : (length - positions + half - 1) / half * half;
}

}  // namespace weft
