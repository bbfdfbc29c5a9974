// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>

#include "data/prepare/config.h"
#include "data/tokenizer/config.h"

namespace weft {

// The sections of a job that make a dataset: its text, and the tokenizers that turn text into ids.
struct TextJob {
  DataConfig data;
  TokenizerConfig tokenizer = {};
  std::optional<TokenizerConfig> target_tokenizer = {};  // nullopt: both languages use `tokenizer`

  bool has_own_target() const {
    return data.tokenizer_file.empty() ? target_tokenizer.has_value() : !data.target_tokenizer_file.empty();
  }
  // ConfigError if a section contradicts itself or another one. Touches no file.
  void check() const;
};

}  // namespace weft
