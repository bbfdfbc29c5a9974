// SPDX-License-Identifier: Apache-2.0
#include "data/text/file_names.h"

#include <fnmatch.h>

#include <algorithm>
#include <span>

#include "base/error.h"

namespace weft {

namespace {

bool is_pattern(const std::string& name) { return name.find_first_of("*?[") != std::string::npos; }

std::vector<fs::directory_entry> entries_of(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  fs::directory_iterator at(directory.empty() ? fs::path(".") : directory, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) entries.push_back(*at);
  require<DataError>(!error, "{}: cannot be listed: {}", directory.string(), error.message());
  return entries;
}

bool is_hidden(const fs::path& name) { return name.native().starts_with('.'); }

// The visible subdirectories of `directory`, links left out, so that a walk ends.
std::vector<fs::path> directories_in(const fs::path& directory) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : entries_of(directory)) {
    const fs::path name = entry.path().filename();
    if (!is_hidden(name) && entry.is_directory() && !entry.is_symlink()) found.push_back(directory / name);
  }
  return found;
}

void files_below(const fs::path& directory, std::vector<fs::path>& found) {
  for (const fs::directory_entry& entry : entries_of(directory)) {
    const fs::path name = entry.path().filename();
    if (!is_hidden(name) && !entry.is_directory()) found.push_back(directory / name);
  }
  for (const fs::path& below : directories_in(directory)) files_below(below, found);
}

void add(const fs::path& path, std::vector<fs::path>& found) {
  if (fs::is_directory(path)) return files_below(path, found);
  found.push_back(path);
}

// Adds the files below `base` that the parts of a pattern match.
void match(const fs::path& base, std::span<const std::string> parts, std::vector<fs::path>& found) {
  if (parts.empty()) return add(base, found);
  const std::string& part = parts.front();
  const auto rest = parts.subspan(1);
  if (part == "**") {
    if (rest.empty()) return files_below(base, found);
    match(base, rest, found);
    for (const fs::path& below : directories_in(base)) match(below, parts, found);
  } else if (!is_pattern(part)) {
    const fs::path next = base / part;
    if (rest.empty() ? fs::exists(next) : fs::is_directory(next)) match(next, rest, found);
  } else {
    for (const fs::directory_entry& entry : entries_of(base)) {
      const std::string name = entry.path().filename();
      const bool fits = ::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0;
      if (fits && (rest.empty() || entry.is_directory())) match(base / name, rest, found);
    }
  }
}

std::vector<fs::path> matches(const fs::path& pattern) {
  std::vector<std::string> parts;
  for (const fs::path& part : pattern.relative_path()) {
    if (!part.empty()) parts.push_back(part.string());
  }
  std::vector<fs::path> found;
  match(pattern.root_path(), parts, found);
  require<DataError>(!found.empty(), "{}: no file matches", pattern.string());
  return found;
}

}  // namespace

std::vector<fs::path> files_named(const std::string& name) {
  std::vector<fs::path> found;
  if (!fs::exists(name) && is_pattern(name)) {
    found = matches(name);
  } else {
    require<DataError>(fs::exists(name), "{}: no such file", name);
    add(name, found);
    require<DataError>(!found.empty(), "{}: there is no file in this directory", name);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  for (const fs::path& path : found) {
    const fs::file_type type = fs::status(path).type();
    require<DataError>(
        type != fs::file_type::socket && type != fs::file_type::block && type != fs::file_type::not_found,
        "{}: neither a file nor a pipe", path.string());
  }
  return found;
}

}  // namespace weft
