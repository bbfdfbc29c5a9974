// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/files.h"
#include "evaluate/text_attention.h"

namespace weft {

// A form in which attention is written.
struct AttentionForm {
  const char* ending;                   // of the names of its files
  int64_t most_weights;                 // in one file
  void (*check_name)(const fs::path&);  // DataError if the name is taken
  void (*write)(const fs::path&, const TextAttention&);
};

// The form that a file's name ends in. ConfigError if none does.
const AttentionForm& attention_form(const fs::path& file);

}  // namespace weft
