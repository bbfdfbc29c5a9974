// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "data/prepare/records/split.h"
#include "data/prepare/tokenizers.h"
#include "data/tokenizer/config.h"

namespace weft {

// What can be known before any text is read: ConfigError and DataError of prepare(), for keys that contradict each
// other, files that are not there or cannot be read, tokenizers that do not load or lack a special. Returns the
// tokenizers; those that are learnt from the text have their specials already, but know bytes only.
Tokenizers check_before_reading(const DataConfig& data, const TokenizerConfig& tokenizer,
                                const std::optional<TokenizerConfig>& target_tokenizer);

// ConfigError if documents would run together: several of them that are no whole files, and no eos to put between.
void check_documents_are_kept_apart(const DataConfig& data, const Tokenizer& tokenizer, Corpus& corpus);

}  // namespace weft
