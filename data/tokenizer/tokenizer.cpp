// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/tokenizer.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "base/hash.h"
#include "data/tokenizer/bpe/model.h"
#include "data/tokenizer/formats/json.h"
#include "data/tokenizer/formats/sentencepiece.h"
#include "data/tokenizer/pretokenizer_scan.h"
#include "data/tokenizer/special_search.h"
#include "data/tokenizer/symbol_models.h"
#include "data/tokenizer/unigram/model.h"
#include "data/tokenizer/written.h"

namespace weft {

namespace {

constexpr std::string_view kFormat = "weft-tokenizer";
constexpr int kVersion = 1;
constexpr const char* kInText = "in_text";
constexpr const char* kStripsLeft = "strips_left";
constexpr std::array kRoles = {"bos", "eos", "pad", "unk"};  // in the order of SpecialRole
static_assert(kRoles.size() == enum_size<SpecialRole>());

void check_specials(const TokenizerModel& model, const SpecialTokens& specials) {
  std::unordered_set<std::string_view> names;
  int32_t before = -1;
  for (const auto& [name, id, in_text, strips_left] : specials.tokens) {
    require<DataError>(!name.empty() && is_utf8(name), "tokenizer: the name of special {} is empty or not UTF-8", id);
    require<DataError>(names.insert(name).second, "tokenizer: special \"{}\" is there twice", name);
    require<DataError>(id > before && id <= kMaxTokenId,
                       "tokenizer: special \"{}\": id {} must be above {}, at most {}", name, id, before, kMaxTokenId);
    require<DataError>(!model.knows(id), "tokenizer: special \"{}\": id {} is a token's", name, id);
    before = id;
  }
  for (size_t role = 0; role < kRoles.size(); ++role) {
    const auto& id = specials.roles[role];
    const auto is_it = [&](const SpecialToken& token) { return token.id == *id; };
    require<DataError>(!id || std::any_of(specials.tokens.begin(), specials.tokens.end(), is_it),
                       "tokenizer: {} is id {}, which is no special", kRoles[role], id.value_or(-1));
  }
}

uint64_t hash_of(const TokenizerModel& model, const SpecialTokens& specials) {
  Hasher hasher;
  const auto add_text = [&](std::string_view text) {
    const uint64_t size = text.size();
    hasher.update(&size, sizeof(size));
    hasher.update(text.data(), size);
  };
  add_text(kFormat);
  add_text(model.kind());
  for (const auto& [name, id, in_text, strips_left] : specials.tokens) {
    hasher.update(&id, sizeof(id));
    add_text(name);
    if (in_text) add_text(kInText);
    if (strips_left) add_text(kStripsLeft);
  }
  for (const auto& role : specials.roles) {
    const int32_t id = role.value_or(-1);
    hasher.update(&id, sizeof(id));
  }
  model.hash_into(hasher);
  return hasher.digest();
}

SpecialTokens read_specials(const TokenizerJson& json, const std::string& where) {
  SpecialTokens specials;
  const TokenizerJson& list = json_list(json_member(json, "specials", where), where + ": specials");
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string at = fmt::format("{}: specials[{}]", where, i);
    json_only_members(list[i], {"name", "id", kInText, kStripsLeft}, at);
    const auto is_set = [&](const char* option) {
      const bool has = list[i].contains(option);
      if (has && list[i][option] != true) refuse_json(list[i][option], "true", at + ": " + option);
      return has;
    };
    specials.tokens.push_back({json_name(json_member(list[i], "name", at), at + ": name"),
                               json_id(json_member(list[i], "id", at), at + ": id"), is_set(kInText),
                               is_set(kStripsLeft)});
  }
  const TokenizerJson& roles = json_member(json, "roles", where);
  json_only_members(roles, {"bos", "eos", "pad", "unk"}, where + ": roles");
  for (size_t role = 0; role < kRoles.size(); ++role) {
    if (!roles.contains(kRoles[role])) continue;
    const std::string at = fmt::format("{}: roles: {}", where, kRoles[role]);
    const std::string name = json_name(roles[kRoles[role]], at);
    for (const SpecialToken& token : specials.tokens) {
      if (token.name == name) specials.roles[role] = token.id;
    }
    require<DataError>(specials.roles[role].has_value(), "{}: \"{}\" is not among the specials", at, name);
  }
  return specials;
}

std::unique_ptr<const TokenizerModel> read_model(const TokenizerJson& json, const SpecialTokens& specials,
                                                 const std::string& where) {
  const std::string kind = json_name(json_member(json, "kind", where), where + ": kind");
  const auto unk = specials.roles[static_cast<size_t>(SpecialRole::Unk)];
  if (kind == "bpe") return BpeModel::read_json(json, where);
  if (kind == "chars") return ListModel::read_json(json, Pretokenizer::Rule::Chars, unk, where);
  if (kind == "words") return ListModel::read_json(json, Pretokenizer::Rule::Words, unk, where);
  if (kind == "sentencepiece") return read_sentencepiece_json(json, specials, where);
  if (kind == "unigram") return UnigramModel::read_json(json, specials, where);
  require<DataError>(kind == "bytes", "{}: kind: \"{}\" is not bpe, bytes, chars, words, sentencepiece or unigram",
                     where, kind);
  json_only_members(json, {"format", "version", "kind", "specials", "roles"}, where);
  return std::make_unique<const BytesModel>();
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const TokenizerModel> model, SpecialTokens specials)
    : model_(std::move(model)), specials_(std::move(specials)) {
  check_specials(*model_, specials_);
  vocabulary_ = model_->vocabulary();
  if (!specials_.tokens.empty()) vocabulary_ = std::max<int64_t>(vocabulary_, specials_.tokens.back().id + 1);
  any_in_text_ = std::ranges::any_of(specials_.tokens, &SpecialToken::in_text);
  hash_ = hash_of(*model_, specials_);
}

Tokenizer::~Tokenizer() = default;

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::vector<int32_t> ids;
  encode_append(text, ids, options);
  return ids;
}

void Tokenizer::encode_append(std::string_view text, std::vector<int32_t>& ids, EncodeOptions options) const {
  const bool all = options.recognise_specials;
  const size_t before = options.continues ? 1 : 0;
  if (all ? specials_.tokens.empty() : !any_in_text_) return model_->encode_append(text, before, ids);
  SpecialSearch search(specials_.tokens, text, all);
  for (size_t from = 0; from < text.size();) {
    const auto [token, at] = search.next(from);
    std::string_view part = text.substr(from, at - from);
    if (token != nullptr && token->strips_left) part = part.substr(0, space_at_end(part));
    model_->encode_append(part, before + from, ids);
    if (token == nullptr) break;
    ids.push_back(token->id);
    from = at + token->name.size();
  }
}

size_t Tokenizer::safe_split(std::string_view text, size_t from) const {
  // A model's places are before a blank, which may be within a name, or before one and dropped with it.
  const auto has_blank = [](const SpecialToken& token) {
    return token.in_text && (token.strips_left || token.name.find(' ') != std::string::npos);
  };
  if (std::ranges::any_of(specials_.tokens, has_blank)) return text.size();
  return model_->safe_split(text, from);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, DecodeOptions options) const {
  std::string text;
  const std::string_view separator = model_->separator();
  const auto unk = special(SpecialRole::Unk);
  bool is_first = true;
  for (size_t i = 0; i < ids.size(); ++i) {
    std::string_view shown;
    if (model_->knows(ids[i])) {
      shown = model_->bytes(ids[i]);
    } else {
      const SpecialToken* token = special_of(ids[i]);
      require<DataError>(token != nullptr, "tokenizer: id {} at place {} stands for no token (vocabulary {})", ids[i],
                         i, vocabulary_);
      if (!options.show_specials && !token->in_text && ids[i] != unk) continue;
      shown = token->name;
    }
    if (!is_first) text.append(separator);
    text.append(shown);
    is_first = false;
  }
  if (!options.continues) text.erase(0, model_->own_beginning(text));
  return text;
}

int64_t Tokenizer::vocabulary() const { return vocabulary_; }
std::string Tokenizer::kind() const { return std::string(model_->kind()); }
uint64_t Tokenizer::hash() const { return hash_; }
const std::vector<SpecialToken>& Tokenizer::specials() const { return specials_.tokens; }

std::optional<int32_t> Tokenizer::special(std::string_view name) const {
  for (const SpecialToken& token : specials_.tokens) {
    if (token.name == name) return token.id;
  }
  return std::nullopt;
}

std::optional<int32_t> Tokenizer::special(SpecialRole role) const { return specials_.roles[static_cast<size_t>(role)]; }

const SpecialToken* Tokenizer::special_of(int32_t id) const {
  const auto token = std::ranges::lower_bound(specials_.tokens, id, {}, &SpecialToken::id);
  return token != specials_.tokens.end() && token->id == id ? &*token : nullptr;
}

bool Tokenizer::is_special(int32_t id) const {
  const SpecialToken* token = special_of(id);
  return token != nullptr && !token->in_text;
}

bool Tokenizer::knows(int32_t id) const { return model_->knows(id) || special_of(id) != nullptr; }

std::string Tokenizer::to_json() const {
  TokenizerJson json{{"format", kFormat}, {"version", kVersion}, {"kind", model_->kind()}};
  TokenizerJson& list = json["specials"] = TokenizerJson::array();
  TokenizerJson& roles = json["roles"] = TokenizerJson::object();
  for (const auto& [name, id, in_text, strips_left] : specials_.tokens) {
    list.push_back({{"name", name}, {"id", id}});
    if (in_text) list.back()[kInText] = true;
    if (strips_left) list.back()[kStripsLeft] = true;
  }
  for (size_t role = 0; role < kRoles.size(); ++role) {
    for (const SpecialToken& token : specials_.tokens) {
      if (specials_.roles[role] == token.id) roles[kRoles[role]] = token.name;
    }
  }
  model_->write_json(json);
  return json.dump() + "\n";
}

std::vector<std::string> written_tokens(const Tokenizer& tokenizer) {
  const std::string where = "the tokenizer";
  const TokenizerJson json = parse_json(tokenizer.to_json(), where);
  const auto model = read_model(json, read_specials(json, where), where);
  std::vector<std::string> tokens(static_cast<size_t>(tokenizer.vocabulary()));
  for (int32_t id = 0; id < model->vocabulary(); ++id) {
    if (model->knows(id)) tokens[static_cast<size_t>(id)] = model->written(id);
  }
  for (const SpecialToken& special : tokenizer.specials()) tokens[static_cast<size_t>(special.id)] = special.name;
  return tokens;
}

std::optional<std::string> special_name(const Tokenizer& tokenizer, SpecialRole role) {
  const auto id = tokenizer.special(role);
  for (const SpecialToken& token : tokenizer.specials()) {
    if (token.id == id) return token.name;
  }
  return std::nullopt;
}

std::string reserved_name(int64_t id) { return fmt::format("<|reserved_{}|>", id); }

void Tokenizer::save(const fs::path& path) const { write_file_atomically(path, to_json()); }

std::shared_ptr<const Tokenizer> Tokenizer::from_json(std::string_view text, const std::string& where) {
  const TokenizerJson json = parse_json(text, where);
  const std::string format = json_name(json_member(json, "format", where), where + ": format");
  require<DataError>(format == kFormat, "{}: format is \"{}\", expected \"{}\"", where, format, kFormat);
  const TokenizerJson& version = json_member(json, "version", where);
  const bool is_known = version.is_number_unsigned() && version == kVersion;
  if (!is_known) refuse_json(version, fmt::format("version {}, which this weft reads", kVersion), where + ": version");
  SpecialTokens specials = read_specials(json, where);
  auto model = read_model(json, specials, where);
  try {
    return std::make_shared<const Tokenizer>(std::move(model), std::move(specials));
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", where, error.what()), error.hint());
  }
}

std::shared_ptr<const Tokenizer> Tokenizer::load(const fs::path& path) {
  return from_json(read_file(path), path.string());
}

}  // namespace weft
