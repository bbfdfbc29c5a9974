// SPDX-License-Identifier: Apache-2.0
// Exports a translation model as MarianMTModel of `transformers` (marian_family.cpp). Other translation models keep
// weft's own layout.
#include <nlohmann/json.hpp>

#include "base/config/writer.h"
#include "base/error.h"
#include "data/prepare/specials.h"
#include "data/tokenizer/file_names.h"
#include "data/tokenizer/formats/hugging_face.h"
#include "data/tokenizer/formats/marian.h"
#include "data/tokenizer/same_ids.h"
#include "exchange/export_plan.h"
#include "exchange/family.h"
#include "exchange/parameters.h"

namespace weft {
namespace {

std::string config_json(const ModelToExport& model, const SideSpecials& target, int32_t pad) {
  const Family& family = marian_family();
  nlohmann::ordered_json json = {{"architectures", {family.architecture()}},
                                 {"model_type", family.type()},
                                 {"vocab_size", model.source_tokenizer->vocabulary()},
                                 {"decoder_vocab_size", model.target_tokenizer->vocabulary()}};
  json.update(family.describe(model.job.model));
  json.update({{"decoder_start_token_id", *target.bos},
               {"bos_token_id", *target.bos},
               {"eos_token_id", *target.eos},
               {"forced_eos_token_id", nullptr},
               {"pad_token_id", pad},
               {"torch_dtype", model.dtype == StoredType::BF16 ? "bfloat16" : "float32"}});
  return json.dump(2) + "\n";
}

// MarianMT's search must generate no special token except the end token, as in weft.
std::string generation_json(const ModelToExport& model, const SideSpecials& target, int32_t pad) {
  nlohmann::ordered_json never = nlohmann::ordered_json::array();
  for (const int32_t id : never_generated(*model.target_tokenizer)) {
    never.push_back(nlohmann::ordered_json::array({id}));
  }
  nlohmann::ordered_json json = {{"decoder_start_token_id", *target.bos},
                                 {"bos_token_id", *target.bos},
                                 {"eos_token_id", *target.eos},
                                 {"pad_token_id", pad},
                                 {"max_length", model.job.model.max_length}};
  if (!never.empty()) json["bad_words_ids"] = never;
  return json.dump(2) + "\n";
}

// Why the tokenizers of a model have no form there. MarianTokenizer's files hold two, others one for both languages.
std::optional<std::string> why_no_tokenizers(const ModelToExport& model) {
  const Tokenizer &source = *model.source_tokenizer, &target = *model.target_tokenizer;
  const bool shared = model.job.model.tying == Tying::All, tables = have_piece_tables(source, target);
  if (!shared && !tables) {
    return fmt::format("model.tying: with this tokenizer it has all, not {}", enum_name(model.job.model.tying));
  }
  const bool one = tables ? have_same_ids(source, target) : source.hash() == target.hash();
  if (shared && !one) return "target_tokenizer: both languages share one tokenizer";
  if (tables && (model.job.data.source_bos || !model.job.data.source_eos)) {
    return "data.source_eos: its tokenizer puts the end token behind sources, and nothing before them";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_not_marian(const ModelToExport& model) {
  const TransformerConfig& here = model.job.model;
  if (const auto difference = first_difference(marian_family().nearest(here), here)) return difference;
  return why_no_tokenizers(model);
}

ExportPlan plan_marian(const ModelToExport& model) {
  const Family& family = marian_family();
  const Tokenizer &source_side = *model.source_tokenizer, &tokenizer = *model.target_tokenizer;
  const TransformerConfig& config = model.job.model;
  const SideSpecials source = source_specials(model.job.data, source_side), target = target_specials(tokenizer);
  const int32_t pad = tokenizer.special(SpecialRole::Pad).value_or(*target.eos);
  ExportPlan plan{.architecture = std::string(family.architecture())};
  plan.files =
      have_piece_tables(source_side, tokenizer)
          ? marian_tokenizer_files(source_side, tokenizer, config.tying == Tying::All, config.max_length)
          : hugging_face_tokenizer_files(tokenizer, config.max_length, {.before = source.bos, .after = source.eos});
  plan.files["config.json"] = config_json(model, target, pad);
  plan.files["generation_config.json"] = generation_json(model, target, pad);
  const ModelSpec spec{.config = family.as_stored(config),  // zeros where the model has no bias
                       .vocabularies = {.source = source_side.vocabulary(), .target = tokenizer.vocabulary()}};
  for (const auto& [name, shape] : parameters_of(spec)) {
    add_parameter(plan, name, shape, family.places(name, shape, {.tying = config.tying}));
  }
  return plan;
}

ExportPlan plan_own_layout(const ModelToExport& model) {
  nlohmann::ordered_json config = {{"model_type", "weft"}, {"task", enum_name(model.job.task)}};
  config["source_vocabulary"] = model.source_tokenizer->vocabulary();
  config["target_vocabulary"] = model.target_tokenizer->vocabulary();
  config["source_bos"] = model.job.data.source_bos, config["source_eos"] = model.job.data.source_eos;
  config["model"] = to_json(model.job.model);
  ExportPlan plan{.architecture = "weft",
                  .files = {{"config.json", config.dump(2) + "\n"},
                            {kSourceTokenizerFile, model.source_tokenizer->to_json()},
                            {kTargetTokenizerFile, model.target_tokenizer->to_json()}}};
  const Vocabularies vocabularies{.source = model.source_tokenizer->vocabulary(),
                                  .target = model.target_tokenizer->vocabulary()};
  for (const auto& [name, shape] : parameters_of({.config = model.job.model, .vocabularies = vocabularies})) {
    plan.tensors.push_back({.place = StoredPlace::same(name, shape), .ours = name, .shape = shape});
  }
  return plan;
}

}  // namespace weft
