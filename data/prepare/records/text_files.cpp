// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/records/text_files.h"

#include "base/error.h"
#include "data/text/file_names.h"

namespace weft {

namespace {

std::vector<TextFile> files_of_names(const std::vector<std::string>& names) {
  std::vector<TextFile> files;
  for (const std::string& name : names) {
    for (fs::path& path : files_named(name)) files.emplace_back(std::move(path));
  }
  return files;
}

}  // namespace

TextFiles resolve_files(const SplitFiles& files, TextFormat format) {
  if (format != TextFormat::Parallel) return {.source = files_of_names(files.files), .target = {}};
  TextFiles resolved{.source = files_of_names(files.source), .target = files_of_names(files.target)};
  require<ConfigError>(resolved.source.size() == resolved.target.size(),
                       "data: {} source files, but {} target files: they are read in pairs", resolved.source.size(),
                       resolved.target.size());
  return resolved;
}

uint64_t total_bytes(const TextFiles& files) {
  uint64_t bytes = 0;
  for (const auto* side : {&files.source, &files.target}) {
    for (const TextFile& file : *side) bytes += file.size();
  }
  return bytes;
}

}  // namespace weft
