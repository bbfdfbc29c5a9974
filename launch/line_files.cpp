// SPDX-License-Identifier: Apache-2.0
#include "launch/line_files.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/output.h"
#include "base/progress.h"

namespace weft {

LineFile::LineFile(const std::string& path)
    : input_(path == "-" ? TextInput::standard_input() : TextInput(TextFile(path))) {}

bool LineFile::next(std::string& line) {
  std::string_view view;
  if (!input_.next_line(view)) return false;
  if (view.ends_with('\r')) view.remove_suffix(1);
  line = view;
  return true;
}

void each_typed_line(const std::function<void(const std::string& line)>& body) {
  const auto ask = [] { write_lines(STDERR_FILENO, "> "); };
  ask();  // before the file is opened, which reads its first bytes
  LineFile typed("-");
  for (std::string line; typed.next(line); ask()) {
    try {
      body(line);
    } catch (const DataError& error) {
      log_error("{}", describe(error));
    } catch (const ConfigError& error) {
      log_error("{}", describe(error));
    }
  }
  write_lines(STDERR_FILENO, "\n");
}

ParallelLines::ParallelLines(const std::vector<std::string>& paths) {
  require<ConfigError>(std::ranges::count(paths, "-") <= 1, "standard input cannot be two files at once");
  for (const std::string& path : paths) files_.emplace_back(path);
}

bool ParallelLines::next_of_each(std::vector<std::string>& lines) {
  size_t read = 0;
  for (size_t i = 0; i < files_.size(); ++i) read += files_[i].next(lines[i]) ? 1 : 0;
  if (read == files_.size() || read == 0) return read > 0;
  const auto longer = std::ranges::max_element(files_, {}, &LineFile::line);
  const auto shorter = std::ranges::min_element(files_, {}, &LineFile::line);
  throw DataError(fmt::format("{} has {}, and {} has more", shorter->name().string(), counted(shorter->line(), "line"),
                              longer->name().string()),
                  "a line of one belongs to the same line of the other");
}

std::vector<std::vector<std::string>> ParallelLines::next(int64_t most) {
  std::vector<std::vector<std::string>> batch(files_.size());
  std::vector<std::string> lines(files_.size());
  for (int64_t i = 0; i < most && next_of_each(lines); ++i) {
    for (size_t f = 0; f < files_.size(); ++f) batch[f].push_back(std::move(lines[f]));
  }
  return batch;
}

LineReader line_reader(const std::string& input, const std::string& prefixes, int64_t most) {
  using Paths = std::vector<std::string>;
  const Paths paths = prefixes.empty() ? Paths{input} : Paths{input, prefixes};
  return [paths, most, files = std::shared_ptr<ParallelLines>(), first = int64_t{0}]() mutable {
    if (!files) files = std::make_shared<ParallelLines>(paths);
    auto lines = files->next(most);
    LineBatch batch{.first = first, .lines = std::move(lines[0])};
    if (lines.size() > 1) batch.prefixes = std::move(lines[1]);
    first += std::ssize(batch.lines);
    return batch;
  };
}

}  // namespace weft
