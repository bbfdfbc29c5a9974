// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct TerConfig;

// The words of one line as Tercom's normaliser makes them (and sacreBLEU's tokenizer `tercom`).
std::vector<std::u32string> tokenize_for_ter(const TerConfig& config, std::u32string_view line);

}  // namespace weft
