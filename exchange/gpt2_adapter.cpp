// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/config/writer.h"
#include "base/error.h"
#include "exchange/export_plan.h"
#include "exchange/gpt2_config.h"
#include "exchange/gpt2_tensors.h"
#include "model/layers/lora.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// The GPT-2 product that a weft adapter belongs to, "transformer.h.3.attn.c_attn", and the form in which GPT-2 stores
// its outputs.
struct AdaptedProduct {
  std::string name;
  Gpt2Form form;
};

AdaptedProduct adapted_product(const ModelToExport& model, std::string_view adapter) {
  const std::string product(adapter.substr(0, adapter.rfind('.')));
  const auto place = gpt2_place(product + ".weight");
  require<DataError>(place.has_value(), "{}: GPT-2 has no product {}", model.where, product);
  return {std::string(kGpt2Prefix) + place->name.substr(0, place->name.rfind('.')), place->form};
}

// Writes B [outputs, rank] with the outputs in GPT-2's order. GPT-2's weights are transposed, but B is not.
void outputs_in_order(Gpt2Form form, const Shape& shape, std::span<const float> ours, std::span<float> theirs) {
  if (form != Gpt2Form::Qkv) return static_cast<void>(std::ranges::copy(ours, theirs.begin()));
  std::vector<float> transposed(ours.size());
  to_gpt2(form, shape, ours, transposed);
  const int64_t rank = shape[-1], outputs = shape.elements() / rank;
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t r = 0; r < rank; ++r) theirs[o * rank + r] = transposed[r * outputs + o];
  }
}

// Checks that every key of lora that adapter_config.json does not hold has its default.
void check_is_peft(const LoraConfig& lora, const std::string& where) {
  const LoraConfig there{.rank = lora.rank, .alpha = lora.alpha, .dropout = lora.dropout, .targets = lora.targets};
  for (const ConfigChange& other : config_changes(there, lora)) {
    throw DataError(fmt::format("{}: lora.{}: peft cannot represent these adapters: it has {}, not {}", where,
                                other.key, other.before, other.after),
                    "docs/huggingface.md lists what it can");
  }
}

std::string config_json(const ModelToExport& model, const std::set<std::string>& products) {
  const LoraConfig& lora = model.job.lora;
  return Json{{"peft_type", "LORA"},
              {"task_type", "CAUSAL_LM"},
              {"base_model_name_or_path", nullptr},
              {"r", lora.rank},
              {"lora_alpha", lora.alpha},
              {"lora_dropout", lora.dropout},
              {"target_modules", products},
              {"fan_in_fan_out", true},  // GPT-2 keeps weights as [in, out]
              {"bias", "none"},
              {"inference_mode", true}}
             .dump(1) +
         "\n";
}

}  // namespace

ExportPlan plan_gpt2_adapter(const ModelToExport& model) {
  check_is_gpt2(model.job.model, model.where);
  check_is_peft(model.job.lora, model.where);
  ExportPlan plan{.architecture = "LoRA adapter", .weights = "adapter_model.safetensors", .adapters_alone = true};
  std::set<std::string> products;
  const Vocabularies vocabularies{.target = model.target_tokenizer->vocabulary()};
  for (const auto& [name, shape] :
       parameters_of({.config = model.job.model, .vocabularies = vocabularies, .lora = model.job.lora})) {
    if (!is_adapter(name)) continue;
    const AdaptedProduct product = adapted_product(model, name);
    const bool is_a = name.ends_with(kLoraA);
    const int64_t columns = shape[-1];
    products.insert(product.name);
    plan.tensors.push_back(
        {.theirs = fmt::format("base_model.model.{}.{}.weight", product.name, is_a ? "lora_A" : "lora_B"),
         .their_shape = {shape.elements() / columns, columns},
         .ours = name,
         .shape = shape,
         .convert = [form = is_a ? Gpt2Form::Same : product.form, shape = shape](auto ours, auto theirs) {
           outputs_in_order(form, shape, ours, theirs);
         }});
  }
  plan.files["adapter_config.json"] = config_json(model, products);
  return plan;
}

}  // namespace weft
