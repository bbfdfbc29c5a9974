// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/formats/hugging_face_added.h"

#include "data/tokenizer/formats/hugging_face_steps.h"

namespace weft {
namespace {

bool is_set(const TokenizerJson& token, const char* option) {
  const auto found = token.find(option);
  return found != token.end() && *found == true;
}

}  // namespace

std::vector<AddedToken> added_tokens(const TokenizerJson& json, PlainNames plain, const std::string& where) {
  std::vector<AddedToken> tokens;
  if (!json.contains("added_tokens")) return tokens;
  const TokenizerJson& added = json_list(json["added_tokens"], where + ": added_tokens");
  for (size_t i = 0; i < added.size(); ++i) {
    const std::string at = fmt::format("{}: added_tokens[{}]", where, i);
    const TokenizerJson& token = added[i];
    const std::string name = text_member(token, "content", at), named = fmt::format("{}: \"{}\"", at, name);
    for (const char* option : {"single_word", "rstrip"}) check_unused(token, option, named, {false});
    const auto special = token.find("special");
    const bool in_text = special != token.end() && *special == false;
    const bool has_normalizer = json.contains("normalizer") && !json["normalizer"].is_null();
    if (has_normalizer && (in_text || plain == PlainNames::OfAll)) check_unused(token, "normalized", named, {false});
    tokens.push_back({.token = {.name = name,
                                .id = json_id(json_member(token, "id", at), at + ": id"),
                                .in_text = in_text,
                                .strips_left = is_set(token, "lstrip")},
                      .at = named});
  }
  return tokens;
}

}  // namespace weft
