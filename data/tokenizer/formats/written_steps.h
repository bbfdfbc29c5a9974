// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>

#include "data/tokenizer/bpe/characters.h"

// Steps of a tokenizer.json of Hugging Face's tokenizers, as weft writes them.
namespace weft {

// No step: null; one: that step; more: a Sequence, which has them as the member `name`.
nlohmann::ordered_json sequence_of(const nlohmann::ordered_json& steps, const char* name);
// `pattern`: {"String": ...} or {"Regex": ...}.
nlohmann::ordered_json replace_step(const nlohmann::ordered_json& pattern, std::string_view by);
// Writes blanks as U+2581. `prefix` is not Always, which is a step of a normalizer.
nlohmann::ordered_json metaspace_step(BlankPrefix prefix, bool splits);
// The decoder of pieces of text and bytes: U+2581 becomes a blank, and the blank that was put before a text goes.
nlohmann::ordered_json decoder_of_pieces(bool puts_blank);

}  // namespace weft
