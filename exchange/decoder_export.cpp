// SPDX-License-Identifier: Apache-2.0
// Exports a GPT as the first family of `transformers` that computes the same.
#include <nlohmann/json.hpp>

#include "data/prepare/specials.h"
#include "data/tokenizer/formats/hugging_face.h"
#include "exchange/chat_template.h"
#include "exchange/export_plan.h"
#include "exchange/family.h"
#include "exchange/parameters.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Json role_id(const Tokenizer& tokenizer, SpecialRole role) {
  const auto id = tokenizer.special(role);
  return id ? Json(*id) : Json(nullptr);
}

Json special_ids(const Tokenizer& tokenizer) {
  return {{"bos_token_id", role_id(tokenizer, SpecialRole::Bos)},
          {"eos_token_id", role_id(tokenizer, SpecialRole::Eos)},
          {"pad_token_id", role_id(tokenizer, SpecialRole::Pad)}};
}

std::string config_json(const Family& family, const ModelToExport& model) {
  Json json = {{"architectures", {family.architecture()}},
               {"model_type", family.type()},
               {"vocab_size", model.target_tokenizer->vocabulary()}};
  json.update(family.describe(model.job.model));
  json.update(special_ids(*model.target_tokenizer));
  json["use_cache"] = true;
  json["torch_dtype"] = model.dtype == StoredType::BF16 ? "bfloat16" : "float32";
  return json.dump(2) + "\n";
}

// A text that a model continues begins as its documents do, and does not end.
TextFrame frame_of(const ModelToExport& model) {
  return {.before = document_specials(model.job.data, *model.target_tokenizer).bos, .after = {}};
}

}  // namespace

ExportPlan plan_decoder(const ModelToExport& model) {
  const Family& family = family_of(model.job.model, model.where);
  const Tokenizer& tokenizer = *model.target_tokenizer;
  ExportPlan plan{.architecture = std::string(family.architecture()),
                  .files = hugging_face_tokenizer_files(tokenizer, model.job.model.max_length, frame_of(model))};
  if (model.job.data.format == TextFormat::Messages) add_chat_template(model.job.data.chat, plan.files);
  plan.files["config.json"] = config_json(family, model);
  plan.files["generation_config.json"] = special_ids(tokenizer).dump(2) + "\n";
  const ModelSpec spec{.config = family.as_stored(model.job.model), .vocabularies = {.target = tokenizer.vocabulary()}};
  for (const auto& [name, shape] : parameters_of(spec)) add_parameter(plan, name, shape, family.places(name, shape));
  return plan;
}

}  // namespace weft
