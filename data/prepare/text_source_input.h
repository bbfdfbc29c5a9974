#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace weft {

// The text of one file as it streams in, gunzipped if its first bytes are those of gzip (several members, too).
//  - A truncated or damaged gzip file, or a file named *.gz that is none, is a DataError.
//  - A NUL byte is a DataError with file and line: such a file is not text (or it is UTF-16).
//  - A byte order mark of UTF-8 at the beginning is left out. Other bytes pass as they are.
class TextInput {
 public:
  explicit TextInput(const fs::path& path);
  ~TextInput();
  TextInput(TextInput&&) noexcept;

  // The next line without its '\n'; the last needs none. False at the end. The view holds until the next call.
  bool next_line(std::string_view& line);
  // Everything that is left.
  void read_rest(std::string& into);

  int64_t line() const { return line_; }  // of what next_line() returned last, from 1
  uint64_t consumed() const;              // bytes of the file on disk, for progress
  const fs::path& path() const { return path_; }

 private:
  struct Stream;
  bool fill();
  void refuse_nul(std::string_view chunk);

  fs::path path_;
  std::unique_ptr<Stream> stream_;
  std::vector<char> buffer_;
  size_t filled_ = 0;
  std::string_view pending_;  // of buffer_, not yet returned
  std::string carried_;       // a line that began in an earlier buffer
  int64_t line_ = 0;
  int64_t newlines_ = 0;  // in all buffers before this one
};

}  // namespace weft
