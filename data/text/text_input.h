// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/text_file.h"

namespace weft {

// The text of one file as it streams in, decompressed if its first bytes are those of gzip (several members, too) or,
// if weft is built with it, of zstd.
//  - A truncated or damaged file is a DataError, and so is a file compressed in another way, or only named *.gz or
//  *.zst.
//  - A byte order mark of UTF-8 at the beginning is left out. Other bytes pass as they are.
class TextInput {
 public:
  explicit TextInput(const TextFile& file);
  // Reads the rest of standard input; each line is returned as soon as it has arrived.
  static TextInput standard_input();
  ~TextInput();
  TextInput(TextInput&&) noexcept;

  // The next line without its '\n'; the last line needs none. False at the end. The view holds until the next call.
  bool next_line(std::string_view& line);
  // Appends a part of the remaining text; false if nothing is left. line() does not count its lines.
  bool read_some(std::string& into);
  // Appends all of the remaining text.
  void read_rest(std::string& into);

  int64_t line() const { return line_; }  // number of the line that next_line() returned last, from 1
  uint64_t consumed() const;              // bytes of the file on disk that were read, for progress
  uint64_t checksum() const;              // hash64 of the bytes read; at the end, of the whole file
  const fs::path& path() const { return path_; }

 private:
  struct Stream;
  TextInput(fs::path name, File file);
  bool fill();       // replaces the content of buffer_
  bool fill_more();  // appends to buffer_

  fs::path path_;
  std::unique_ptr<Stream> stream_;
  std::vector<char> buffer_;
  size_t filled_ = 0;
  std::string_view pending_;  // the part of buffer_ that was not returned yet
  std::string carried_;       // a line that began in an earlier buffer
  int64_t line_ = 0;
  int64_t newlines_ = 0;  // line ends in all buffers before this one
};

}  // namespace weft
