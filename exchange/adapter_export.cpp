// SPDX-License-Identifier: Apache-2.0
// Exports the adapters of a GPT as peft loads them beside the model that they adapt. A product that a family stores as
// several tensors becomes several adapters: each has the A of the whole and its own rows of B.
#include <nlohmann/json.hpp>

#include "base/config/writer.h"
#include "base/error.h"
#include "exchange/export_plan.h"
#include "exchange/family.h"
#include "exchange/parameters.h"
#include "model/layers/lora.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// Checks that every key of lora that adapter_config.json does not hold has its default.
void check_is_peft(const LoraConfig& lora, const std::string& where) {
  const LoraConfig there{.rank = lora.rank, .alpha = lora.alpha, .dropout = lora.dropout, .targets = lora.targets};
  for (const ConfigChange& other : config_changes(there, lora)) {
    throw DataError(fmt::format("{}: lora.{}: peft cannot represent these adapters: it has {}, not {}", where,
                                other.key, other.before, other.after),
                    "docs/huggingface.md lists what it can");
  }
}

std::string config_json(const LoraConfig& lora, const std::set<std::string>& modules, bool transposed) {
  return Json{{"peft_type", "LORA"},
              {"task_type", "CAUSAL_LM"},
              {"base_model_name_or_path", nullptr},
              {"r", lora.rank},
              {"lora_alpha", lora.alpha},
              {"lora_dropout", lora.dropout},
              {"target_modules", modules},
              {"fan_in_fan_out", transposed},  // whether the family keeps weights as [in, out]
              {"bias", "none"},
              {"inference_mode", true}}
             .dump(1) +
         "\n";
}

}  // namespace

ExportPlan plan_adapter(const ModelToExport& model) {
  const Family& family = family_of(model.job.model, model.where);
  const LoraConfig& lora = model.job.lora;
  check_is_peft(lora, model.where);
  ExportPlan plan{.architecture = "LoRA adapter", .weights = "adapter_model.safetensors", .adapters_alone = true};
  const ModelSpec spec{
      .config = model.job.model, .vocabularies = {.target = model.target_tokenizer->vocabulary()}, .lora = lora};
  const auto parameters = parameters_of(spec);
  const std::map<std::string, Shape> shapes(parameters.begin(), parameters.end());
  std::set<std::string> modules;
  bool transposed = false;
  for (const auto& [b, b_shape] : parameters) {
    if (!b.ends_with(kLoraB)) continue;
    const std::string product = b.substr(0, b.size() - kLoraB.size()), a = fmt::format("{}{}", product, kLoraA);
    const std::vector<StoredPlace> places = family.places(product + ".weight", b_shape);
    require<DataError>(!places.empty(), "{}: {} has no product {}", model.where, family.name(), product);
    for (const StoredPlace& place : places) {
      const std::string module = place.name.substr(0, place.name.rfind('.'));
      const auto add = [&](std::string_view matrix, const std::string& ours, StoredPlace theirs) {
        theirs.name = fmt::format("base_model.model.{}.{}.weight", module, matrix);
        plan.tensors.push_back({.place = std::move(theirs), .ours = ours, .shape = shapes.at(ours)});
      };
      modules.insert(module);
      transposed = transposed || place.transposed;
      add("lora_A", a, StoredPlace::same("", shapes.at(a)));
      add("lora_B", b, place.upright());  // [outputs, rank], however the family keeps the product's weight
    }
  }
  plan.files["adapter_config.json"] = config_json(lora, modules, transposed);
  return plan;
}

}  // namespace weft
