// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer/bpe/characters.h"
#include "data/tokenizer/bpe/visible.h"
#include "data/tokenizer/formats/json.h"
#include "data/tokenizer/unigram/text_rule.h"

// The steps by which a tokenizer.json of Hugging Face's tokenizers makes pieces of a text, and what it puts around one.
// The functions throw a DataError beginning with `where`, or with `at`, the place in the file, if weft would do
// otherwise.
namespace weft {

[[noreturn]] void refuse_member(const std::string& at, const TokenizerJson& value);
// DataError unless the member is absent, null, or one of the values that have no effect.
void check_unused(const TokenizerJson& object, const char* name, const std::string& where,
                  std::initializer_list<TokenizerJson> nothing);
std::string text_member(const TokenizerJson& object, const char* name, const std::string& where);
bool is_blank_sign(const TokenizerJson& step, const char* member);  // whether the member is U+2581

// The steps of the file's normalizer, pre_tokenizer or decoder, one after another; none if that is absent or null. A
// Sequence has them as the member `list`.
std::vector<TokenizerJson> steps_of(const TokenizerJson& json, const char* member, const char* list,
                                    const std::string& where);
std::optional<NormalForm> normal_form_of_step(const TokenizerJson& step, const std::string& at);
// What a Metaspace step does; older files have add_prefix_space in place of prepend_scheme.
BlankRule read_metaspace(const TokenizerJson& step, const std::string& at);

// The rule of a file whose model merges bytes: its normalizer, and its pre-tokenizer, which ends in a ByteLevel step.
VisibleRule byte_rule(const TokenizerJson& json, const std::string& where);
// The rule of a file whose model merges characters: blanks become U+2581, by its normalizer or by its pre-tokenizer.
CharacterRule character_rule(const TokenizerJson& json, const std::string& where);
// The tokens that the post-processor puts before and behind a text; empty: none. DataError if it puts several there.
struct TokensAround {
  std::string before, behind;
};
TokensAround tokens_around_texts(const TokenizerJson& json, const std::string& where);

}  // namespace weft
