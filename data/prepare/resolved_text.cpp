// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/resolved_text.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "data/prepare/specials.h"

namespace weft {

namespace {

void check_readable(const TextFile& file) {
  if (::access(file.name().c_str(), R_OK) == 0) return;
  throw DataError(fmt::format("{}: cannot be read: {}", file.name().string(), std::strerror(errno)));
}

// The files that the tokenizer sections name.
std::vector<PrepareInput> tokenizer_files_of(const TextJob& job) {
  std::vector<PrepareInput> inputs;
  const auto add = [&](std::string role, const std::string& name) {
    if (!name.empty()) inputs.push_back({std::move(role), fs::path(name)});
  };
  add("data.tokenizer_file", job.data.tokenizer_file);
  add("data.target_tokenizer_file", job.data.target_tokenizer_file);
  if (!job.data.tokenizer_file.empty()) return inputs;
  const auto add_section = [&](const std::string& section, const TokenizerConfig& config) {
    add(section + ".vocab_file", config.vocab_file);
    add(section + ".merges_file", config.merges_file);
    add(section + ".ranks_file", config.ranks_file);
    add(section + ".model_file", config.model_file);
  };
  add_section("tokenizer", job.tokenizer);
  if (job.target_tokenizer) add_section("target_tokenizer", *job.target_tokenizer);
  return inputs;
}

}  // namespace

ResolvedText resolve_text(const TextJob& job) {
  job.check();
  ResolvedText text{
      .job = job, .files = files_of_splits(job.data), .tokenizer_files = tokenizer_files_of(job), .tokenizers = {}};
  for (const TextFiles& files : text.files) {
    for (const auto* side : {&files.source, &files.target}) {
      for (const TextFile& file : *side) check_readable(file);
    }
  }
  for (const PrepareInput& input : text.tokenizer_files) check_readable(input.file);
  text.tokenizers = known_tokenizers(job);
  specials_of(job.data, *text.tokenizers.source, *text.tokenizers.target);  // throws if a special is missing
  return text;
}

}  // namespace weft
