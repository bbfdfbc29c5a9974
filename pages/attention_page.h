// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "evaluate/text_attention.h"

namespace weft {

// About 3 bytes of a page each.
inline constexpr int64_t kMostWeightsInPage = int64_t{1} << 22;

// A page that shows the attention of a text: docs/attention.md says what is in it.
std::string attention_page(const TextAttention& attention);

}  // namespace weft
