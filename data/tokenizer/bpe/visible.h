// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/text/normal_form.h"
#include "data/tokenizer/bpe/vocabulary.h"
#include "data/tokenizer/formats/json.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

struct TokenizerParts {
  std::unique_ptr<const TokenizerModel> model;
  SpecialTokens specials;
};

// GPT-2's files, and those that follow them, write each byte as a visible character: the byte's Latin-1 character if
// that is visible, else one from U+0100 on.
class VisibleBytes {
 public:
  VisibleBytes();
  // The bytes that `text` stands for; nullopt if `text` holds another character.
  std::optional<std::string> read(std::string_view text) const;
  std::string write(std::string_view bytes) const;

 private:
  std::unordered_map<uint32_t, char> byte_of_;
  std::array<std::string, 256> shown_;
};

// The table, made once.
const VisibleBytes& visible_bytes();

using VisibleIds = std::unordered_map<std::string, int32_t>;  // ids by visible text
struct VisibleMerge {
  std::string left, right;
  std::string at;  // file and place, for messages
};

VisibleIds visible_ids(const TokenizerJson& object, const std::string& where);
VisibleMerge visible_merge(std::string_view line, std::string at);  // "left right"

// The id of a token of the file at `where_ids`, which stands at `at`.
int32_t id_of(const VisibleIds& ids, const std::string& token, const std::string& at, const std::string& where_ids);

// The tokenizer of a vocabulary that has everything but its merges. A token that is no symbol and made by no merge is a
// special. DataError if two tokens share an id.
TokenizerParts parts_of(BpeVocabulary vocabulary, const VisibleIds& ids, const std::vector<VisibleMerge>& merges,
                        const std::string& where_ids, const std::string& where_merges);

// The byte-level BPE of these tokens and merges. A token that is neither a byte nor made by a merge (`<|endoftext|>`)
// is a special. DataError beginning with `where_ids` or `where_merges`.
struct VisibleRule {  // as in BpeVocabulary
  std::optional<NormalForm> normal_form;
  std::vector<std::string> first_patterns;
  std::string pattern;
  bool keeps_whole = false;
};
TokenizerParts parts_of_visible(const VisibleIds& ids, const std::vector<VisibleMerge>& merges, VisibleRule rule,
                                const std::string& where_ids, const std::string& where_merges);

// Makes `<|endoftext|>`, if present, the token that begins and ends documents, as in all files that OpenAI published.
void set_published_roles(SpecialTokens& specials);

}  // namespace weft
