// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/formats/marian.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "data/tokenizer/bpe/vocabulary.h"
#include "data/tokenizer/formats/hugging_face_parts.h"
#include "data/tokenizer/formats/sentencepiece.h"
#include "data/tokenizer/written.h"

namespace weft {
namespace {

constexpr const char *kSourceModel = "source.spm", *kTargetModel = "target.spm";
constexpr const char *kVocabulary = "vocab.json", *kTargetVocabulary = "target_vocab.json";
constexpr const char *kConfig = "tokenizer_config.json", *kSeparate = "separate_vocabs";

// The names of MarianTokenizer's special tokens, and whether each language has a vocabulary of its own.
struct MarianNames {
  std::string eos = "</s>", unk = "<unk>", pad = "<pad>";
  bool separate = false;

  bool has(const std::string& name) const { return name == eos || name == unk || name == pad; }
};

void check_added(const std::string& name, const MarianNames& names, const std::string& where) {
  if (names.has(name)) return;
  throw DataError(fmt::format("{}: the added token \"{}\" cannot be represented", where, name),
                  "weft's MarianTokenizer has the special tokens eos_token, unk_token and pad_token");
}

// A member that changes nothing if it is absent, null or empty.
void check_empty(const TokenizerJson& json, const char* member, const std::string& where) {
  const auto found = json.find(member);
  const bool empty = found == json.end() || found->is_null() || (found->is_structured() && found->empty());
  require<DataError>(empty, "{}: {}: {} cannot be represented", where, member,
                     empty ? std::string() : excerpt_text(*found));
}

MarianNames read_names(const fs::path& directory) {
  const fs::path path = roles_file(directory), added_file = directory / "added_tokens.json";
  const std::string where = path.string();
  const TokenizerJson json = fs::exists(path) ? read_json_object(path) : TokenizerJson::object();
  MarianNames names;
  names.eos = role_name(json, "eos_token", where, names.eos);
  names.unk = role_name(json, "unk_token", where, names.unk);
  names.pad = role_name(json, "pad_token", where, names.pad);
  const TokenizerJson separate = json.value(kSeparate, TokenizerJson(false));
  if (!separate.is_boolean()) refuse_json(separate, "true or false", where + ": " + kSeparate);
  names.separate = separate.get<bool>();
  for (const char* member : {"sp_model_kwargs", "additional_special_tokens", "extra_special_tokens"}) {
    check_empty(json, member, where);
  }
  const TokenizerJson added = json.value("added_tokens_decoder", TokenizerJson::object());
  for (const auto& [id, token] : added.items()) {
    const std::string at = fmt::format("{}: added_tokens_decoder: {}", where, id);
    check_added(text_member(token, "content", at), names, at);
  }
  if (!fs::exists(added_file)) return names;
  const TokenizerJson more = read_json_object(added_file);
  for (const auto& [name, id] : more.items()) check_added(name, names, added_file.string());
  return names;
}

// The tokens of a vocab.json by id; empty where an id has none.
struct MarianVocabulary {
  std::string where;
  std::vector<std::string> tokens;

  int64_t id_of(const std::string& name, const char* role) const {
    const auto found = std::ranges::find(tokens, name);
    require<DataError>(found != tokens.end(), "{}: {} \"{}\" is missing", where, role, name);
    return found - tokens.begin();
  }
};

// The directory's files are there, besides the one that showed that they must be.
fs::path present(const fs::path& directory, const char* file) {
  if (fs::exists(directory / file)) return directory / file;
  throw DataError(fmt::format("{}: {} is here, but {} is missing", directory.string(), kSourceModel, file),
                  "save the whole tokenizer beside the model");
}

MarianVocabulary read_vocabulary(const fs::path& path, int64_t size) {
  MarianVocabulary read{.where = path.string(), .tokens = {}};
  require<DataError>(size <= kMaxTokenId, "{}: the model has a vocabulary of {}; at most {}", read.where, size,
                     kMaxTokenId);
  read.tokens.resize(static_cast<size_t>(size));
  const TokenizerJson json = read_json_object(path);
  for (const auto& [name, value] : json.items()) {
    const std::string at = fmt::format("{}: \"{}\"", read.where, name);
    require<DataError>(!name.empty(), "{}: the token is empty", at);
    const int32_t id = json_id(value, at);
    require<DataError>(id < size, "{}: id {}, but config.json gives the model a vocabulary of {}", at, id, size);
    std::string& token = read.tokens[static_cast<size_t>(id)];
    require<DataError>(token.empty(), "{}: id {} is that of \"{}\" too", at, id, token);
    token = name;
  }
  return read;
}

using Roles = std::array<std::optional<int32_t>, enum_size<SpecialRole>()>;

std::optional<int32_t>& role(Roles& roles, SpecialRole which) { return roles[static_cast<size_t>(which)]; }

// The tokenizer of one language. Specials are what has a role, what MarianTokenizer calls special, and ids of no token.
std::shared_ptr<const Tokenizer> side(const fs::path& model, MarianVocabulary vocabulary, const MarianNames& names,
                                      Roles roles) {
  role(roles, SpecialRole::Unk) = static_cast<int32_t>(vocabulary.id_of(names.unk, "unk_token"));
  // A pad token is never generated, so no text would end.
  if (role(roles, SpecialRole::Pad) == role(roles, SpecialRole::Eos)) role(roles, SpecialRole::Pad).reset();
  SpecialTokens specials{.tokens = {}, .roles = roles};
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    std::string& token = vocabulary.tokens[id];
    if (token.empty()) {
      specials.tokens.push_back({reserved_name(static_cast<int64_t>(id)), static_cast<int32_t>(id)});
    } else if (names.has(token)) {
      specials.tokens.push_back({std::move(token), static_cast<int32_t>(id)});
      token.clear();
    }
  }
  const auto ids = static_cast<int64_t>(vocabulary.tokens.size());
  const int32_t unk = *role(roles, SpecialRole::Unk);
  return with_ids(
      {mapped_sentencepiece(read_file(model), std::move(vocabulary.tokens), unk, model.string()), std::move(specials)},
      ids, vocabulary.where);
}

// An id that config.json states, and that the tokenizer's files state too.
int32_t agreed(const fs::path& directory, const char* field, int64_t id, const MarianVocabulary& vocabulary,
               const std::string& name, const char* role_name) {
  const int64_t theirs = vocabulary.id_of(name, role_name);
  require<DataError>(id == theirs, "{}: {}: {}, but {} \"{}\" has id {} in {}", (directory / "config.json").string(),
                     field, id, role_name, name, theirs, vocabulary.where);
  return static_cast<int32_t>(id);
}

Roles target_roles(const fs::path& directory, const TranslationIds& ids, const MarianVocabulary& vocabulary,
                   const MarianNames& names) {
  Roles roles;
  role(roles, SpecialRole::Eos) = agreed(directory, "eos_token_id", ids.end, vocabulary, names.eos, "eos_token");
  if (ids.pad) {
    role(roles, SpecialRole::Pad) = agreed(directory, "pad_token_id", *ids.pad, vocabulary, names.pad, "pad_token");
  }
  const bool special = ids.start == ids.end || ids.start == ids.pad;
  require<DataError>(special, "{}: decoder_start_token_id: {} is neither eos_token_id nor pad_token_id",
                     (directory / "config.json").string(), ids.start);
  role(roles, SpecialRole::Bos) = static_cast<int32_t>(ids.start);
  return roles;
}

TranslationTokenizers read_marian(const fs::path& directory, const TranslationIds& ids) {
  const MarianNames names = read_names(directory);
  const fs::path source_model = present(directory, kSourceModel), target_model = present(directory, kTargetModel);
  const MarianVocabulary source = read_vocabulary(present(directory, kVocabulary), ids.source_vocabulary);
  const MarianVocabulary target =
      names.separate || ids.target_vocabulary != ids.source_vocabulary
          ? read_vocabulary(present(directory, names.separate ? kTargetVocabulary : kVocabulary), ids.target_vocabulary)
          : source;
  const Roles of_target = target_roles(directory, ids, target, names);
  Roles of_source = of_target;
  if (names.separate) {
    of_source = {};
    role(of_source, SpecialRole::Eos) = static_cast<int32_t>(source.id_of(names.eos, "eos_token"));
  }
  return {.source = side(source_model, source, names, of_source),
          .target = side(target_model, target, names, of_target),
          .ends_sources = true};
}

// One tokenizer for both languages. Its roles are those that config.json states.
TranslationTokenizers read_shared(const fs::path& directory, const TranslationIds& ids) {
  auto [parts, around] = read_hugging_face_parts(directory);
  const std::string config = (directory / "config.json").string();
  require<DataError>(ids.source_vocabulary == ids.target_vocabulary,
                     "{}: decoder_vocab_size: {} differs from vocab_size, {}, but {} has one tokenizer", config,
                     ids.target_vocabulary, ids.source_vocabulary, directory.string());
  SpecialTokens& specials = parts.specials;
  const auto special = [&](const char* field, int64_t id) {
    const auto found = std::ranges::find(specials.tokens, id, &SpecialToken::id);
    require<DataError>(found != specials.tokens.end(), "{}: {}: {} is no special token of the tokenizer", config, field,
                       id);
    return *found;
  };
  const SpecialToken start = special("decoder_start_token_id", ids.start), end = special("eos_token_id", ids.end);
  const auto stated = role(specials.roles, SpecialRole::Eos);
  require<DataError>(!stated || *stated == end.id, "{}: eos_token_id: {}, but the tokenizer's eos_token has id {}",
                     config, end.id, stated.value_or(0));
  require<DataError>(around.before.empty() || around.before == start.name,
                     "{}: the tokenizer puts \"{}\" before a text, which is not the decoder_start_token_id of {}",
                     directory.string(), around.before, config);
  role(specials.roles, SpecialRole::Bos) = start.id;
  role(specials.roles, SpecialRole::Eos) = end.id;
  role(specials.roles, SpecialRole::Pad).reset();
  if (ids.pad && *ids.pad != ids.end) {
    role(specials.roles, SpecialRole::Pad) = special("pad_token_id", *ids.pad).id;
  }
  const auto tokenizer = with_ids(std::move(parts), ids.target_vocabulary, directory.string());
  return {.source = tokenizer,
          .target = tokenizer,
          .begins_sources = !around.before.empty(),
          .ends_sources = !around.behind.empty()};
}

// The members of vocab.json, in the order of their ids. Tokens that have no text there are left out.
std::string vocabulary_json(const Tokenizer& tokenizer, PieceTable pieces) {
  pieces.resize(static_cast<size_t>(tokenizer.vocabulary()));
  for (const SpecialToken& token : tokenizer.specials()) {
    if (token.name != reserved_name(token.id)) pieces[static_cast<size_t>(token.id)] = token.name;
  }
  std::string text;
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (pieces[id].empty()) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", TokenizerJson(pieces[id]).dump(), id);
  }
  return fmt::format("{{{}}}\n", text);
}

}  // namespace

TranslationTokenizers read_translation_tokenizers(const fs::path& directory, const TranslationIds& ids) {
  return fs::exists(directory / kSourceModel) ? read_marian(directory, ids) : read_shared(directory, ids);
}

bool have_piece_tables(const Tokenizer& source, const Tokenizer& target) {
  return mapped_pieces(source).has_value() && mapped_pieces(target).has_value();
}

std::map<std::string, std::string> marian_tokenizer_files(const Tokenizer& source, const Tokenizer& target, bool shared,
                                                          int64_t max_length) {
  const auto of_source = mapped_pieces(source), of_target = mapped_pieces(target);
  require<InternalError>(of_source && of_target, "a tokenizer without a table of pieces");
  nlohmann::ordered_json config = {{"tokenizer_class", "MarianTokenizer"},
                                   {kSeparate, !shared},
                                   {"model_max_length", max_length},
                                   {"clean_up_tokenization_spaces", false}};
  const auto name = [&](const char* key, SpecialRole which) {
    const auto found = special_name(target, target.special(which) ? which : SpecialRole::Eos);
    if (found) config[key] = *found;
  };
  name("eos_token", SpecialRole::Eos), name("unk_token", SpecialRole::Unk), name("pad_token", SpecialRole::Pad);
  std::map<std::string, std::string> files = {{kSourceModel, of_source->model},
                                              {kTargetModel, of_target->model},
                                              {kVocabulary, vocabulary_json(source, of_source->pieces)},
                                              {kConfig, config.dump(2) + "\n"}};
  if (!shared) files[kTargetVocabulary] = vocabulary_json(target, of_target->pieces);
  return files;
}

}  // namespace weft
