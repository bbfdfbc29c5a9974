// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/prepare/config.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

// The special tokens around one side of a pair.
struct SideSpecials {
  std::optional<int32_t> bos, eos;
};

// A source has the specials that data.source_bos and data.source_eos require. A target has both, since the decoder
// begins with `bos` and ends with `eos`. ConfigError if the tokenizer has no such token.
SideSpecials source_specials(const DataConfig& config, const Tokenizer& tokenizer);
SideSpecials target_specials(const Tokenizer& tokenizer);
// A document ends with `eos` if the tokenizer has one. It begins with `bos` if data.source_bos requires that, and so
// does a prompt, as the beginning of a document.
SideSpecials document_specials(const DataConfig& config, const Tokenizer& tokenizer);
// An answer to a prompt ends with `eos`.
SideSpecials answer_specials(const Tokenizer& tokenizer);

// The tokens that no search generates, ascending: bos, pad and unk, unless one of them is eos.
std::vector<int32_t> never_generated(const Tokenizer& tokenizer);

// The specials around both sides of a record. A document has a source side alone. ConfigError if a tokenizer lacks a
// special that sequences need.
struct RecordSpecials {
  SideSpecials source, target;
};
RecordSpecials specials_of(const DataConfig& config, const Tokenizer& source, const Tokenizer& target);

// A source sentence as preparation stores it: the ids of the text between its specials. A source that is longer than
// the job allows is neither cut nor dropped.
std::vector<int32_t> encode_source(const std::string& text, const Tokenizer& tokenizer, const DataConfig& config);

}  // namespace weft
