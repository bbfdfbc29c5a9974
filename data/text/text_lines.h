// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace weft {

// Walks over a text in memory, line by line or record by record, and counts the lines of its file.
class TextLines {
 public:
  // `lines_before`: the number of lines before the text in its file.
  TextLines(std::string_view text, int64_t lines_before) : rest_(text), passed_(lines_before) {}

  // The next line without its '\n'; the last line needs none. False at the end.
  bool next(std::string_view& line) { return next(line, "\n"); }
  // The next record, up to another separator.
  bool next(std::string_view& record, std::string_view separator) {
    if (rest_.empty()) return false;
    const size_t end = std::min(rest_.find(separator), rest_.size());
    record = rest_.substr(0, end);
    pass(std::min(end + separator.size(), rest_.size()));
    return true;
  }
  // All of the remaining text.
  std::string_view rest() {
    const std::string_view all = rest_;
    pass(rest_.size());
    return all;
  }
  int64_t line() const { return line_; }  // line of the file, from 1, where the last returned text begins

 private:
  void pass(size_t bytes) {
    line_ = passed_ + 1;
    passed_ += std::count(rest_.begin(), rest_.begin() + static_cast<ptrdiff_t>(bytes), '\n');
    rest_.remove_prefix(bytes);
  }

  std::string_view rest_;
  int64_t passed_;  // line ends before rest_
  int64_t line_ = 0;
};

// True if the line holds only spaces, tabs and other ASCII blanks, and no line end.
inline bool is_blank_line(std::string_view line) {
  return line.find_first_not_of(" \t\r\v\f") == std::string_view::npos;
}

inline void strip_return(std::string_view& line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
}

}  // namespace weft
