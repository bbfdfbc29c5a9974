// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// A user's pattern, compiled once by PCRE2 with Unicode properties (its Unicode is that of the library: 14 in Debian
// 12). Immutable; split() may be called from many threads.
class Regex {
 public:
  explicit Regex(const std::string& pattern);  // ConfigError with PCRE2's message and position
  ~Regex();
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  // Appends the successive matches in `text` (valid UTF-8) and the text between them, in order. Empty matches do not
  // cut. DataError if a match takes too many steps, or too many matches for such a text take long.
  void split(std::string_view text, std::vector<std::string_view>& pretokens) const;

 private:
  struct Compiled;
  std::string pattern_;
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace weft
