// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/records/text_source.h"

#include "base/error.h"
#include "data/text/file_names.h"

namespace weft {

namespace {

std::vector<TextFile> resolve(const std::vector<std::string>& names) {
  std::vector<TextFile> files;
  for (const std::string& name : names) {
    for (fs::path& path : files_named(name)) files.emplace_back(std::move(path));
  }
  return files;
}

}  // namespace

TextFiles resolve_files(const SplitFiles& files, TextFormat format) {
  if (format != TextFormat::Parallel) return {.source = resolve(files.files), .target = {}};
  TextFiles resolved{.source = resolve(files.source), .target = resolve(files.target)};
  require<ConfigError>(resolved.source.size() == resolved.target.size(),
                       "data: {} source files, but {} target files: they are read in pairs", resolved.source.size(),
                       resolved.target.size());
  return resolved;
}

TextSource::TextSource(const DataConfig& config, TextFiles files, BadRecords& bad, int threads)
    : parser_(config),
      blocks_(config, std::move(files)),
      bad_(bad),
      workers_(threads, [this](const TextBlock& block) { return parser_.parse(block); }) {}

bool TextSource::next(TextRecord& record) {
  while (at_ == records_.size()) {
    if (!next_block()) return false;
  }
  record = std::move(records_[at_++]);
  return true;
}

bool TextSource::next_block() {
  for (TextBlock block; workers_.pending() < workers_.window() && blocks_.next(block);) {
    workers_.submit(std::exchange(block, {}));
  }
  if (workers_.pending() == 0) {
    consumed_ = blocks_.consumed();
    return false;
  }
  ParsedBlock parsed = workers_.take();
  bad_.add(parsed.bad.skipped());
  records_ = std::move(parsed.records), at_ = 0;
  consumed_ = parsed.consumed;
  return true;
}

uint64_t total_bytes(const TextFiles& files) {
  uint64_t bytes = 0;
  for (const auto* side : {&files.source, &files.target}) {
    for (const TextFile& file : *side) bytes += file.size();
  }
  return bytes;
}

}  // namespace weft
