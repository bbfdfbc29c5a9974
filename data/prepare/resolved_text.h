// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "data/prepare/records/split.h"
#include "data/prepare/text_job.h"
#include "data/prepare/tokenizers.h"

namespace weft {

// A job whose names are resolved, once: its files are there and can be read, its tokenizers are loaded.
struct ResolvedText {
  TextJob job;
  BySplit<TextFiles> files;
  std::vector<PrepareInput> tokenizer_files;
  Tokenizers tokenizers;
};

// What can be known before any text is read. ConfigError or DataError for keys that contradict each other, files that
// are missing or unreadable, tokenizers that do not load or lack a special that sequences need.
ResolvedText resolve_text(const TextJob& job);

}  // namespace weft
