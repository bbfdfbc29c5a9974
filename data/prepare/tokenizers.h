// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "data/prepare/config.h"
#include "data/prepare/prepare.h"
#include "data/prepare/records/split.h"
#include "data/tokenizer/config.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

struct Tokenizers {
  TokenizerPtr source;
  TokenizerPtr target;  // the same one if there is no other
};

// Does the target language have a tokenizer of its own?
bool has_own_target(const DataConfig& data, const std::optional<TokenizerConfig>& target_tokenizer);

// The same with stand-ins for those that are learnt from text: they know bytes, and have
// the bos and eos that they will have.
Tokenizers tokenizers_without_text(const DataConfig& data, const TokenizerConfig& tokenizer,
                                   const std::optional<TokenizerConfig>& target_tokenizer);

// Learns from the corpus' training split what has a stand-in in `known`, those of tokenizers_without_text().
Tokenizers make_tokenizers(const DataConfig& data, const TokenizerConfig& tokenizer,
                           const std::optional<TokenizerConfig>& target_tokenizer, const Tokenizers& known,
                           Corpus& corpus, const PrepareOptions& options);

}  // namespace weft
