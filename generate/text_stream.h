// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/tokenizer.h"

namespace weft {

// Where the first of the stop strings begins in a text; npos if the text holds none.
size_t first_stop(std::string_view text, std::span<const std::string> stop_strings);

// Whether the last token of a text completed one of the stop strings. Decodes only as many tokens as a stop string can
// span.
bool ends_in_stop(const Tokenizer& tokenizer, std::span<const int32_t> tokens,
                  std::span<const std::string> stop_strings);

// A text that grows token by token, as pieces that can be shown at once: whole UTF-8 characters, and nothing that may
// yet turn out to begin a stop string.
class TextStream {
 public:
  TextStream(const Tokenizer& tokenizer, std::vector<std::string> stop_strings)
      : tokenizer_(tokenizer), stop_strings_(std::move(stop_strings)) {}
  // The characters that can be shown now and could not be before. `tokens`: all tokens of the text so far.
  std::string grow(std::span<const int32_t> tokens);
  // The rest of the finished text.
  std::string finish(std::string_view text);

 private:
  const Tokenizer& tokenizer_;
  std::vector<std::string> stop_strings_;
  size_t shown_ = 0;  // bytes
};

}  // namespace weft
