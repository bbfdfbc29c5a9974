// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "data/tokenizer/bpe/visible.h"
#include "data/tokenizer/formats/json.h"
#include "data/tokenizer/unigram/model.h"

// Unigram models in the files of Hugging Face's `tokenizers`, as T5 and XLM-RoBERTa have them.
namespace weft {

// The tokenizer of a file whose model is a Unigram. Normalizers: Precompiled, Replace of a text or of runs of blanks,
// Strip, Prepend, Lowercase, StripAccents, the normal forms, Sequence. Pre-tokenizers: WhitespaceSplit, Metaspace, one
// after the other. The unknown token is a special. DataError beginning with `where`, which names the member, if weft
// would encode text differently.
TokenizerParts parts_of_unigram(const TokenizerJson& json, const std::string& where);

inline constexpr const char* kBlankRuns = " {2,}";  // the only regular expression that such files replace

// What the file of a tokenizer of this kind has as these members.
struct UnigramMembers {
  nlohmann::ordered_json normalizer, pre_tokenizer, decoder;
  std::string model;
};
// DataError if tokenizers would give a special another id than weft does.
UnigramMembers unigram_members(const Tokenizer& tokenizer);

}  // namespace weft
