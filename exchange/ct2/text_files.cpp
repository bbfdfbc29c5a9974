// SPDX-License-Identifier: Apache-2.0
// The texts beside a model of CTranslate2: what it calls tokens, which of them it adds by itself, and how text becomes
// tokens.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/prepare/specials.h"
#include "data/tokenizer/formats/hugging_face.h"
#include "data/tokenizer/written.h"
#include "exchange/chat_template.h"
#include "exchange/ct2/plan.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

bool shares_vocabulary(const ModelToExport& model) {
  return model.source_tokenizer->hash() == model.target_tokenizer->hash();
}

// The token of each id. CTranslate2 finds an id by its token, so no two may be the same.
std::vector<std::string> vocabulary_of(const Tokenizer& tokenizer, const std::string& where) {
  std::vector<std::string> tokens = written_tokens(tokenizer);
  std::unordered_map<std::string_view, size_t> seen;
  for (size_t id = 0; id < tokens.size(); ++id) {
    std::string& token = tokens[id];
    if (token.empty()) token = reserved_name(static_cast<int64_t>(id));
    require<DataError>(is_utf8(token), "{}: token {} is not UTF-8, and vocabularies of CTranslate2 hold text", where,
                       id);
    const auto [other, is_new] = seen.emplace(token, id);
    require<DataError>(is_new, "{}: tokens {} and {} are both written \"{}\", and CTranslate2 tells tokens by that",
                       where, other->second, id, token);
  }
  return tokens;
}

std::string vocabulary_json(const std::vector<std::string>& tokens) { return Json(tokens).dump(1) + "\n"; }

// A text that is no token. CTranslate2 puts it behind the vocabulary, where the model generates nothing.
std::string free_name(std::string name, const std::vector<std::string>& tokens) {
  while (std::ranges::find(tokens, name) != tokens.end()) name += "_";
  return name;
}

// The tokens that CTranslate2 treats specially. Every name is one of its configuration's, which may not be null: one
// that the model lacks becomes the end token, else a free name.
struct Ct2Specials {
  std::string unk, bos, eos;
};

Ct2Specials ct2_specials(const ModelToExport& model, const std::vector<std::string>& tokens) {
  const Tokenizer& target = *model.target_tokenizer;
  auto unk = special_name(target, SpecialRole::Unk);
  if (!unk && model.job.is_translation()) unk = special_name(*model.source_tokenizer, SpecialRole::Unk);
  const auto end = special_name(target, SpecialRole::Eos);
  const auto or_end = [&](const std::optional<std::string>& name, const char* free) {
    return name ? *name : end ? *end : free_name(free, tokens);
  };
  return {.unk = or_end(unk, "<unk>"),
          .bos = or_end(special_name(target, SpecialRole::Bos), "<s>"),
          .eos = or_end(end, "</s>")};
}

std::string ct2_config(const ModelToExport& model, const std::vector<std::string>& tokens, const Json& history) {
  const auto [unk, bos, eos] = ct2_specials(model, tokens);
  const TransformerConfig& m = model.job.model;
  Json config = {{"unk_token", unk}, {"bos_token", bos}, {"eos_token", eos}, {"layer_norm_epsilon", m.norm_epsilon}};
  if (model.job.is_translation()) {
    config["decoder_start_token"] = bos;
    config["add_source_bos"] = model.job.data.source_bos, config["add_source_eos"] = model.job.data.source_eos;
  }
  config["multi_query_attention"] = m.derived_kv_heads() < m.heads;
  // CTranslate2 does not read what follows. Who calls it passes the first on, and generates what weft does.
  Json never = Json::array();
  for (const int32_t id : never_generated(*model.target_tokenizer)) {
    never.push_back(Json::array({tokens.at(static_cast<size_t>(id))}));
  }
  config["suppress_sequences"] = never;
  config["weft"] = history;
  return config.dump(2) + "\n";
}

// tokenizer.json of a tokenizer that has one. CTranslate2 puts specials around a source itself, and none before a
// prompt.
void add_tokenizer(const ModelToExport& model, const Tokenizer& tokenizer, const std::string& name,
                   std::map<std::string, std::string>& files) {
  if (!has_hugging_face_files(tokenizer)) return;
  TextFrame frame;
  if (!model.job.is_translation()) frame.before = document_specials(model.job.data, tokenizer).bos;
  auto theirs = hugging_face_tokenizer_files(tokenizer, model.job.model.max_length, frame);
  if (model.job.data.format == TextFormat::Messages) add_chat_template(model.job.data.chat, theirs);
  files[name] = std::move(theirs.at("tokenizer.json"));
  if (name == "tokenizer.json") files["tokenizer_config.json"] = std::move(theirs.at("tokenizer_config.json"));
}

}  // namespace

std::optional<std::string> why_not_ct2_specials(const ModelToExport& model) {
  const auto differs = [&](SpecialRole role, const char* what, bool used) -> std::optional<std::string> {
    const auto source = special_name(*model.source_tokenizer, role),
               target = special_name(*model.target_tokenizer, role);
    if (!used || !source || !target || source == target) return std::nullopt;
    return fmt::format("target_tokenizer.{}: it has one name for both sides, not {} and {}", what, *source, *target);
  };
  const DataConfig& data = model.job.data;
  for (const auto& found :
       {differs(SpecialRole::Bos, "bos", data.source_bos), differs(SpecialRole::Eos, "eos", data.source_eos),
        differs(SpecialRole::Unk, "unk", true)}) {
    if (found) return found;
  }
  return std::nullopt;
}

std::map<std::string, std::string> ct2_text_files(const ModelToExport& model, const Json& history) {
  const std::vector<std::string> tokens = vocabulary_of(*model.target_tokenizer, model.where);
  std::map<std::string, std::string> files = {{"config.json", ct2_config(model, tokens, history)}};
  if (!model.job.is_translation() || shares_vocabulary(model)) {
    files[model.job.is_translation() ? "shared_vocabulary.json" : "vocabulary.json"] = vocabulary_json(tokens);
    add_tokenizer(model, *model.target_tokenizer, "tokenizer.json", files);
    return files;
  }
  files["target_vocabulary.json"] = vocabulary_json(tokens);
  files["source_vocabulary.json"] = vocabulary_json(vocabulary_of(*model.source_tokenizer, model.where));
  add_tokenizer(model, *model.source_tokenizer, "source_tokenizer.json", files);
  add_tokenizer(model, *model.target_tokenizer, "target_tokenizer.json", files);
  return files;
}

}  // namespace weft
