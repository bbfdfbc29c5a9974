// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "exchange/ct2/model_file.h"
#include "exchange/export_plan.h"

namespace weft {

// A table that the model computes and no parameter holds.
struct Ct2Table {
  std::string name;
  Shape shape;
  std::function<std::vector<float>()> values;
};

// A model of CTranslate2: which of its specifications, and all of its variables. `stored` has those that come from the
// checkpoint, whose architecture is the specification's name, and the texts of the other files.
struct Ct2Plan {
  ExportPlan stored;
  uint32_t revision = 0;
  std::vector<Ct2Attribute> attributes;
  std::vector<Ct2Table> tables;
  std::vector<Ct2Alias> aliases;
};

// `history`, where the weights come from, goes into config.json. DataError with why_not_ct2(), or naming what the files
// of CTranslate2 cannot hold: a variable of 4 GiB, or two tokens with one text.
Ct2Plan plan_ct2(const ModelToExport& model, const nlohmann::ordered_json& history);

// "model.norm_placement: it has branch, not pre": what CTranslate2's TransformerDecoderSpec or TransformerSpec cannot
// say of a model; nullopt if it can say everything.
std::optional<std::string> why_not_ct2(const ModelToExport& model);

// The texts of config.json, the vocabularies and, for tokenizers that it can describe, tokenizer.json, by file name.
std::map<std::string, std::string> ct2_text_files(const ModelToExport& model, const nlohmann::ordered_json& history);
// Why one configuration cannot name the specials of both sides; nullopt if it can.
std::optional<std::string> why_not_ct2_specials(const ModelToExport& model);

}  // namespace weft
