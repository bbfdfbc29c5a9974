// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generate/text_generator.h"

namespace weft {

// A text to continue, with its own end: what lm-evaluation-harness calls generate_until.
struct GenerationRequest {
  std::string prompt;
  std::vector<std::string> stop_strings = {};  // in addition to those of the search
  std::optional<int64_t> max_tokens = {};      // instead of the search's
};

// One JSON object: "prompt", and if asked for "stop", a list of texts, and "max_tokens". DataError beginning with
// `where` if it is something else.
GenerationRequest parse_generation_request(std::string_view line, const std::string& where);

// The best text of each request, in their order. Requests with the same ends are decoded together; sampling for a text
// depends on its place among them.
std::vector<std::string> answer_generations(const TextGenerator& generator,
                                            const std::vector<GenerationRequest>& requests, const SearchConfig& search);

}  // namespace weft
