// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/json.h"
#include "data/tokenizer/bpe/vocabulary.h"
#include "data/tokenizer/files.h"
#include "data/tokenizer/formats/hugging_face.h"
#include "data/tokenizer/formats/hugging_face_added.h"
#include "data/tokenizer/formats/hugging_face_parts.h"
#include "data/tokenizer/formats/hugging_face_unigram.h"
#include "data/tokenizer/written.h"

namespace weft {
namespace {

constexpr int kDepth = 16;

bool merges_characters(const TokenizerJson& model) {
  const auto found = model.find("byte_fallback");
  return found != model.end() && *found == true;
}

void check_bpe(const TokenizerJson& model, const std::string& at) {
  if (text_member(model, "type", at) != "BPE") refuse_member(at + ": type", model["type"]);
  check_unused(model, "dropout", at, {0.0});
  if (!merges_characters(model)) check_unused(model, "unk_token", at, {});  // bytes stand for what is unknown
  check_unused(model, "continuing_subword_prefix", at, {""});
  check_unused(model, "end_of_word_suffix", at, {""});
}

bool keeps_whole(const TokenizerJson& model) {
  const auto found = model.find("ignore_merges");
  return found != model.end() && *found == true;
}

// Each merge is "left right" in older files, ["left", "right"] in newer ones.
std::vector<VisibleMerge> merges_from(const TokenizerJson& model, const std::string& where) {
  std::vector<VisibleMerge> merges;
  const TokenizerJson& list = json_list(json_member(model, "merges", where), where + ": merges");
  for (size_t i = 0; i < list.size(); ++i) {
    std::string at = fmt::format("{}: merges[{}]", where, i);
    const TokenizerJson& merge = list[i];
    if (merge.is_string()) {
      merges.push_back(visible_merge(merge.get_ref<const std::string&>(), std::move(at)));
      continue;
    }
    const bool two = merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
    require<DataError>(two, "{}: expected two tokens, got {}", at, json_excerpt(merge));
    merges.push_back({merge[0].get<std::string>(), merge[1].get<std::string>(), std::move(at)});
  }
  return merges;
}

void add_token(VisibleIds& ids, const std::string& name, int32_t id, const std::string& at) {
  const auto [known, is_new] = ids.emplace(name, id);
  require<DataError>(is_new || known->second == id, "{}: id {}, but the vocabulary gives it {}", at, id, known->second);
}

// Says of the specials how they are found in a text. DataError unless they are the added tokens.
void set_added(SpecialTokens& specials, const std::vector<AddedToken>& tokens, const std::string& where) {
  std::map<std::string, SpecialToken> added;
  for (const auto& [token, at] : tokens) added[token.name] = token;
  for (SpecialToken& token : specials.tokens) {
    const auto found = added.find(token.name);
    require<DataError>(found != added.end(), "{}: \"{}\" is neither a byte nor made by a merge nor an added token",
                       where, token.name);
    token.in_text = found->second.in_text;
    token.strips_left = found->second.strips_left;
    added.erase(found);
  }
  require<DataError>(added.empty(), "{}: added token \"{}\" is an ordinary token of the vocabulary too", where,
                     added.empty() ? "" : added.begin()->first);
}

TokenizerParts parts_of_json(const TokenizerJson& json, const std::string& where) {
  const TokenizerJson& model = json_member(json, "model", where);
  if (text_member(model, "type", where + ": model") == "Unigram") return parts_of_unigram(json, where);
  check_bpe(model, where + ": model");
  const TokenizerJson& vocab = json_member(model, "vocab", where + ": model");
  require<DataError>(vocab.is_object(), "{}: model: vocab: expected an object", where);
  VisibleIds ids = visible_ids(vocab, where + ": model: vocab");
  const std::vector<AddedToken> added = added_tokens(json, PlainNames::OfInText, where);
  for (const auto& [token, at] : added) add_token(ids, token.name, token.id, at);
  const std::vector<VisibleMerge> merges = merges_from(model, where + ": model");
  TokenizerParts parts;
  if (merges_characters(model)) {
    check_unused(model, "ignore_merges", where + ": model", {false});
    parts = parts_of_characters(ids, merges, character_rule(json, where), where);
  } else {
    VisibleRule rule = byte_rule(json, where);
    rule.keeps_whole = keeps_whole(model);
    parts = parts_of_visible(ids, merges, std::move(rule), where, where);
  }
  set_added(parts.specials, added, where);
  return parts;
}

TokenizerParts read_vocab_and_merges(const fs::path& directory) {
  const fs::path added = directory / "added_tokens.json";
  TokenizerParts parts = read_gpt2(directory / "vocab.json", directory / "merges.txt");
  if (!fs::exists(added)) return parts;
  const TokenizerJson json = read_json_object(added);
  for (const auto& [name, id] : visible_ids(json, added.string())) {
    const bool is_new =
        std::ranges::find(parts.specials.tokens, name, &SpecialToken::name) == parts.specials.tokens.end();
    if (is_new) parts.specials.tokens.push_back({name, id});
  }
  std::ranges::sort(parts.specials.tokens, {}, &SpecialToken::id);
  return parts;
}

// Sets the roles that the files of the directory name. `around`: the tokens that its tokenizer.json puts around texts.
void read_roles(const fs::path& directory, const TokensAround& around, SpecialTokens& specials) {
  const fs::path path = roles_file(directory);
  const std::string where = path.string();
  const TokenizerJson json = fs::exists(path) ? read_json_object(path) : TokenizerJson::object();
  check_unused(json, "add_bos_token", where, {false, !around.before.empty()});
  check_unused(json, "add_eos_token", where, {false, !around.behind.empty()});
  check_unused(json, "add_prefix_space", where, {false});
  const auto set = [&](const std::string& key, const std::string& name, SpecialRole role) {
    if (name.empty()) return;
    const auto token = std::ranges::find(specials.tokens, name, &SpecialToken::name);
    require<DataError>(token != specials.tokens.end(), "{}: {} \"{}\" is no special token of the vocabulary", where,
                       key, name);
    specials.roles[static_cast<size_t>(role)] = token->id;
  };
  const auto set_end = [&](const char* key, const std::string& put, const char* side, SpecialRole role) {
    const std::string name = role_name(json, key, where);
    set(key, name, role);
    require<DataError>(put.empty() || name.empty() || name == put,
                       "{}: {} is \"{}\", but tokenizer.json puts \"{}\" {} a text", where, key, name, put, side);
    set(fmt::format("the token {} a text", side), put, role);
  };
  set_end("bos_token", around.before, "before", SpecialRole::Bos);
  set_end("eos_token", around.behind, "behind", SpecialRole::Eos);
  set("pad_token", role_name(json, "pad_token", where), SpecialRole::Pad);
  // Other programs often pad batches with the end token; weft never generates the pad token, so no text would end.
  auto& pad = specials.roles[static_cast<size_t>(SpecialRole::Pad)];
  if (pad == specials.roles[static_cast<size_t>(SpecialRole::Eos)]) pad.reset();
}

}  // namespace

TokenizerParts read_hugging_face(const fs::path& tokenizer_json) {
  const TokenizerJson json = read_json_object(tokenizer_json);
  return parts_of_json(json, tokenizer_json.string());
}

TokenizerJson read_json_object(const fs::path& path) {
  TokenizerJson json = parse_json(read_file(path), path.string(), kDepth);
  require<DataError>(json.is_object(), "{}: expected an object", path.string());
  return json;
}

fs::path roles_file(const fs::path& directory) {
  fs::path path = directory / "tokenizer_config.json";
  return fs::exists(path) ? path : directory / "special_tokens_map.json";
}

std::string role_name(const TokenizerJson& json, const char* key, const std::string& where, const std::string& absent) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return absent;
  if (found->is_object()) return text_member(*found, "content", where + ": " + key);
  return json_name(*found, where + ": " + key);
}

HuggingFaceParts read_hugging_face_parts(const fs::path& directory) {
  const fs::path whole = directory / "tokenizer.json";
  const bool is_whole = fs::exists(whole);
  if (!is_whole && !fs::exists(directory / "vocab.json")) {
    throw DataError(fmt::format("{}: neither tokenizer.json nor vocab.json is here", directory.string()),
                    "save the tokenizer beside the model");
  }
  HuggingFaceParts read;
  if (is_whole) {
    const TokenizerJson json = read_json_object(whole);
    read.around = tokens_around_texts(json, whole.string());
    read.parts = parts_of_json(json, whole.string());
  } else {
    read.parts = read_vocab_and_merges(directory);
  }
  read_roles(directory, read.around, read.parts.specials);
  return read;
}

TokenizerPtr with_ids(TokenizerParts parts, int64_t vocabulary, const std::string& where) {
  int64_t ids = parts.model->vocabulary();
  if (!parts.specials.tokens.empty()) ids = std::max<int64_t>(ids, parts.specials.tokens.back().id + 1);
  require<DataError>(ids <= vocabulary, "{}: the tokenizer has ids up to {}, the model a vocabulary of {}", where,
                     ids - 1, vocabulary);
  require<DataError>(vocabulary <= kMaxTokenId, "{}: a vocabulary of {}; at most {}", where, vocabulary, kMaxTokenId);
  for (int64_t id = ids; id < vocabulary; ++id) {
    parts.specials.tokens.push_back({reserved_name(id), static_cast<int32_t>(id)});
  }
  try {
    return std::make_shared<const Tokenizer>(std::move(parts.model), std::move(parts.specials));
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", where, error.what()), error.hint());
  }
}

HuggingFaceTokenizer read_hugging_face_tokenizer(const fs::path& directory, int64_t vocabulary) {
  auto [parts, around] = read_hugging_face_parts(directory);
  require<DataError>(around.behind.empty(),
                     "{}: post_processor: single: it puts \"{}\" behind every text; weft puts nothing behind a prompt",
                     (directory / "tokenizer.json").string(), around.behind);
  return {with_ids(std::move(parts), vocabulary, directory.string()), !around.before.empty()};
}

}  // namespace weft
