// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/text/text_file.h"

namespace weft {

inline constexpr int64_t kMaxLineBytes = int64_t{1} << 30;  // unless a job says so

// The text of one file as it streams in, decompressed if its first bytes are those of gzip (several members, too) or,
// if weft is built with it, of zstd.
//  - A truncated or damaged file is a DataError, and so is a file compressed in another way, or only named *.gz or
//  *.zst.
//  - A line of more than `most_line_bytes` is a DataError: a small compressed file may hold one that fills all memory.
//  - A byte order mark of UTF-8 at the beginning is left out. Other bytes pass as they are.
class TextInput {
 public:
  explicit TextInput(const TextFile& file, int64_t most_line_bytes = kMaxLineBytes);
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
  TextInput(fs::path name, File file, int64_t most_line_bytes);
  bool fill();       // replaces the content of buffer_
  bool fill_more();  // appends to buffer_

  fs::path path_;
  size_t most_line_bytes_;
  std::unique_ptr<Stream> stream_;
  std::vector<char> buffer_;
  size_t filled_ = 0;
  std::string_view pending_;  // the part of buffer_ that was not returned yet
  std::string carried_;       // a line that began in an earlier buffer
  int64_t line_ = 0;
  int64_t newlines_ = 0;  // line ends in all buffers before this one
};

// The error of a record that is longer than a reader takes; it begins at that line.
DataError too_long(const fs::path& path, int64_t line, int64_t most_bytes);

}  // namespace weft
