// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/formats/json.h"

#include "base/config/value_named.h"
#include "base/error.h"
#include "data/tokenizer/bpe/model.h"

namespace weft {

namespace {

constexpr std::string_view kMergesRule = "merges";
constexpr std::string_view kRanksRule = "ranks";

template <class E>
E named_member(const TokenizerJson& json, const char* name, const std::string& where) {
  const std::string at = where + ": " + name;
  return value_named<E>(json_name(json_member(json, name, where), at), at);
}

CharacterSymbols read_characters(const TokenizerJson& json, const std::string& where) {
  CharacterSymbols characters{.prefix = named_member<BlankPrefix>(json, "prefix", where)};
  const TokenizerJson& list = json_list(json["characters"], where + ": characters");
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string at = fmt::format("{}: characters[{}]", where, i);
    require<DataError>(list[i].is_array() && list[i].size() == 2, "{}: expected [code point, id]", at);
    characters.ids.emplace_back(json_id(list[i][0], at), json_id(list[i][1], at));
  }
  return characters;
}

// What is done with a text before its symbols are merged.
void read_text_rule(const TokenizerJson& json, const std::string& where, BpeVocabulary& vocabulary) {
  if (json.contains("normal_form")) vocabulary.normal_form = named_member<NormalForm>(json, "normal_form", where);
  if (json.contains("first_patterns")) {
    const std::string at = where + ": first_patterns";
    for (const TokenizerJson& pattern : json_list(json["first_patterns"], at)) {
      vocabulary.first_patterns.push_back(json_name(pattern, at));
    }
  }
  require<DataError>(json.contains("characters") || !json.contains("prefix"),
                     "{}: prefix: a blank is put before a text of `characters` alone, and there are none", where);
  if (json.contains("characters")) vocabulary.characters = read_characters(json, where);
}

void read_merges(const TokenizerJson& json, const std::string& where, BpeVocabulary& vocabulary) {
  json_only_members(json,
                    {"format", "version", "kind", "specials", "roles", "normal_form", "first_patterns", "characters",
                     "prefix", "pattern", "rule", "bytes", "merges", "whole"},
                    where);
  read_text_rule(json, where, vocabulary);
  const TokenizerJson& bytes = json_list(json_member(json, "bytes", where), where + ": bytes");
  require<DataError>(bytes.size() == 256, "{}: bytes: {} ids, expected 256", where, bytes.size());
  for (size_t b = 0; b < 256; ++b) vocabulary.byte_ids[b] = json_id(bytes[b], fmt::format("{}: bytes[{}]", where, b));
  if (json.contains("whole")) {
    require<DataError>(json["whole"].is_boolean(), "{}: whole: expected true or false", where);
    vocabulary.keeps_whole = json["whole"];
  }
  const TokenizerJson& merges = json_list(json_member(json, "merges", where), where + ": merges");
  vocabulary.merges.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const TokenizerJson& merge = merges[i];
    const bool three = merge.is_array() && merge.size() == 3;
    if (!three || !merge[0].is_number() || !merge[1].is_number() || !merge[2].is_number()) {
      throw DataError(fmt::format("{}: merges[{}]: expected [left, right, id]", where, i));
    }
    const auto id = [&](size_t k) { return json_id(merge[k], fmt::format("{}: merges[{}][{}]", where, i, k)); };
    vocabulary.merges.push_back({id(0), id(1), id(2)});
  }
}

void read_ranks(const TokenizerJson& json, const std::string& where, BpeVocabulary& vocabulary) {
  json_only_members(json, {"format", "version", "kind", "specials", "roles", "pattern", "rule", "tokens"}, where);
  const TokenizerJson& tokens = json_list(json_member(json, "tokens", where), where + ": tokens");
  vocabulary.tokens.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string at = fmt::format("{}: tokens[{}]", where, i);
    require<DataError>(tokens[i].is_array() && tokens[i].size() == 2, "{}: expected [token, id]", at);
    vocabulary.tokens.emplace_back(bytes_from_json(tokens[i][0], at), json_id(tokens[i][1], at));
  }
  find_byte_ids(vocabulary, where);
}

}  // namespace

std::unique_ptr<const BpeModel> BpeModel::read_json(const TokenizerJson& json, const std::string& where) {
  BpeVocabulary vocabulary;
  vocabulary.pattern = json_name(json_member(json, "pattern", where), where + ": pattern");
  const std::string rule = json_name(json_member(json, "rule", where), where + ": rule");
  require<DataError>(rule == kMergesRule || rule == kRanksRule, "{}: rule: \"{}\" is neither {} nor {}", where, rule,
                     kMergesRule, kRanksRule);
  if (rule == kRanksRule) {
    vocabulary.rule = BpeVocabulary::Rule::Ranks;
    read_ranks(json, where, vocabulary);
  } else {
    read_merges(json, where, vocabulary);
  }
  try {
    return std::make_unique<const BpeModel>(std::move(vocabulary), where);
  } catch (const ConfigError& error) {  // a pattern that does not compile
    throw DataError(fmt::format("{}: {}", where, error.what()), error.hint());
  }
}

void BpeModel::write_json(TokenizerJson& json) const {
  json["pattern"] = vocabulary_.pattern;
  if (vocabulary_.rule == BpeVocabulary::Rule::Ranks) {
    json["rule"] = kRanksRule;
    TokenizerJson& tokens = json["tokens"] = TokenizerJson::array();
    for (const auto& [bytes, id] : vocabulary_.tokens)
      tokens.push_back(TokenizerJson::array({bytes_to_json(bytes), id}));
    return;
  }
  json["rule"] = kMergesRule;
  if (vocabulary_.normal_form) json["normal_form"] = enum_name(*vocabulary_.normal_form);
  if (!vocabulary_.first_patterns.empty()) json["first_patterns"] = vocabulary_.first_patterns;
  if (vocabulary_.characters) {
    json["prefix"] = enum_name(vocabulary_.characters->prefix);
    TokenizerJson& characters = json["characters"] = TokenizerJson::array();
    for (const auto& [code_point, id] : vocabulary_.characters->ids) {
      characters.push_back(TokenizerJson::array({code_point, id}));
    }
  }
  json["bytes"] = vocabulary_.byte_ids;
  if (vocabulary_.keeps_whole) json["whole"] = true;
  TokenizerJson& merges = json["merges"] = TokenizerJson::array();
  for (const BpeMerge& merge : vocabulary_.merges) {
    merges.push_back(TokenizerJson::array({merge.left, merge.right, merge.id}));
  }
}

}  // namespace weft
