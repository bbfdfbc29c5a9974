// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "data/tokenizer/formats/hugging_face.h"
#include "exchange/export_plan.h"
#include "exchange/gpt2_config.h"
#include "exchange/gpt2_tensors.h"

namespace weft {

ExportPlan plan_gpt2(const ModelToExport& model) {
  check_is_gpt2(model.job.model, model.where);
  const Tokenizer& tokenizer = *model.target_tokenizer;
  const Gpt2Config config{.model = model.job.model, .vocabulary = tokenizer.vocabulary()};
  ExportPlan plan{.architecture = "GPT2LMHeadModel",
                  .files = hugging_face_tokenizer_files(tokenizer, config.model.max_length)};
  plan.files["config.json"] = gpt2_config_json(config, model.dtype, tokenizer);
  plan.files["generation_config.json"] = generation_config_json(tokenizer);
  const ModelSpec spec{.config = with_all_biases(config.model), .vocabularies = {.target = config.vocabulary}};
  for (const auto& [name, shape] : parameters_of(spec)) {
    const auto place = gpt2_place(name);
    require<InternalError>(place.has_value(), "GPT-2 has no {}", name);
    const bool head = place->name == kGpt2Head;
    plan.tensors.push_back(
        {.theirs = (head ? "" : std::string(kGpt2Prefix)) + place->name,
         .their_shape = gpt2_shape(shape, place->form),
         .ours = name,
         .shape = shape,
         .convert = [form = place->form, shape = shape](auto ours, auto theirs) { to_gpt2(form, shape, ours, theirs); },
         .may_be_absent = name.ends_with(".bias")});
  }
  return plan;
}

}  // namespace weft
