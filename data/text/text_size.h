// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace weft {

// Counts the bytes and words (runs of characters between Unicode white space) of a text that comes in pieces; a word
// may continue from one piece to the next.
class TextSize {
 public:
  void add(std::string_view piece);
  void end_text() { inside_word_ = false; }  // the next piece begins another text
  int64_t words() const { return words_; }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t words_ = 0, bytes_ = 0;
  bool inside_word_ = false;
};

}  // namespace weft
