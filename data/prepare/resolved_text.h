// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "data/prepare/records/split.h"
#include "data/prepare/text_job.h"
#include "data/prepare/tokenizers.h"

namespace weft {

// A job whose names are resolved: its files exist and can be read, and its tokenizers are loaded.
struct ResolvedText {
  TextJob job;
  BySplit<TextFiles> files;
  std::vector<PrepareInput> tokenizer_files;
  Tokenizers tokenizers;
};

// Opens no text. ConfigError or DataError if keys contradict each other, a file is missing or unreadable, or a
// tokenizer does not load or lacks a special that sequences need.
ResolvedText resolve_text(const TextJob& job);

}  // namespace weft
