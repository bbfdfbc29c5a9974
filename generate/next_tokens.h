// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "generate/text_generator.h"

namespace weft {

// A token that may come next, with its share of the model's whole distribution.
struct NextToken {
  int32_t token = 0;
  std::string text;
  double probability = 0;
};

// The `count` most probable next tokens after each prompt, the most probable first.
std::vector<std::vector<NextToken>> next_tokens(const TextGenerator& generator, const std::vector<std::string>& prompts,
                                                int64_t count);

}  // namespace weft
