// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/text/text_input.h"
#include "generate/line_translation.h"

namespace weft {

// Lines of a text file, or of standard input ("-") as they arrive. gzip and zstd are decompressed; a byte order mark at
// the beginning and a carriage return at the end of a line are not part of the lines, as in preparation.
class LineFile {
 public:
  explicit LineFile(const std::string& path);
  bool next(std::string& line);
  int64_t line() const { return input_.line(); }
  const fs::path& name() const { return input_.path(); }

 private:
  TextInput input_;
};

// What `parse(line, "FILE:LINE")` makes of each line of a file; nothing without a path. DataError if the file has no
// line.
template <class Parse>
auto read_requests(const std::string& path, const Parse& parse) {
  std::vector<decltype(parse(std::string(), std::string()))> requests;
  if (path.empty()) return requests;
  LineFile file(path);
  for (std::string line; file.next(line);) {
    requests.push_back(parse(line, fmt::format("{}:{}", file.name().string(), file.line())));
  }
  require<DataError>(!requests.empty(), "{}: holds nothing; expected one request per line", path);
  return requests;
}

// Asks for a line on standard error ("> ") and calls `body` with it, until standard input ends (Ctrl-D). A line that
// `body` refuses (DataError, ConfigError) is reported, and the next one is asked for.
void each_typed_line(const std::function<void(const std::string& line)>& body);

// Files whose lines belong together.
class ParallelLines {
 public:
  explicit ParallelLines(const std::vector<std::string>& paths);
  // The next lines of each file, at most `most`; no lines at the end. DataError if one file ends before another.
  std::vector<std::vector<std::string>> next(int64_t most);

 private:
  bool next_of_each(std::vector<std::string>& lines);

  std::vector<LineFile> files_;
};

// The lines of a file, with those of another as their prefixes if it has a name, at most `most` at a time. The files
// are opened when the first line is asked for, since an error is then thrown on every rank.
LineReader line_reader(const std::string& input, const std::string& prefixes, int64_t most);

}  // namespace weft
