// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors/safetensors.h"
#include "data/tokenizer/tokenizer.h"
#include "job/job.h"
#include "model/transformer.h"

namespace weft {

// A checkpoint's model, as its manifest describes it.
struct ModelToExport {
  std::string where;  // the checkpoint, for messages
  JobConfig job;
  std::shared_ptr<const Tokenizer> source_tokenizer, target_tokenizer;
  StoredType dtype = StoredType::F32;
};

// An exported tensor and its source in weft. If the source `may_be_absent` and the checkpoint lacks it, zeros result.
struct ExportedTensor {
  std::string theirs;
  Shape their_shape;
  std::string ours;
  Shape shape;  // the shape of `ours`
  std::function<void(std::span<const float> ours, std::span<float> theirs)> convert;
  bool may_be_absent = false;
};

struct ExportPlan {
  std::string architecture;
  std::string weights = "model.safetensors";
  bool adapters_alone = false;               // false: every tensor of the checkpoint must have a place
  std::map<std::string, std::string> files;  // contents by file name
  std::vector<ExportedTensor> tensors;
};

// The name and shape of every parameter of a model, including its adapters.
std::vector<std::pair<std::string, Shape>> parameters_of(const ModelSpec& spec);
// `config` with every bias that a product or a norm can have.
TransformerConfig with_all_biases(TransformerConfig config);

ExportPlan plan_gpt2(const ModelToExport& model);
ExportPlan plan_gpt2_adapter(const ModelToExport& model);
ExportPlan plan_marian(const ModelToExport& model);
ExportPlan plan_own_layout(const ModelToExport& model);
// "model.norm_placement: it has post, not pre": why a translation model is not a MarianMT; nullopt if it is one.
std::optional<std::string> why_not_marian(const ModelToExport& model);

}  // namespace weft
