// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/files.h"
#include "checkpoint/safetensors/safetensors.h"

namespace weft {

// The form in which a model was written.
struct ExportReport {
  std::string architecture;   // GPT2LMHeadModel, LlamaForCausalLM, ..., MarianMTModel, or weft
  std::string why_not_other;  // weft: the key of the job that no MarianMT can have, and why
};

// Writes a checkpoint's model as `transformers` saves it, into the directory `out`, which must not exist: a GPT as
// the first family that computes the same (family.h), a translation model as MarianMTModel. The files are
// model.safetensors, config.json, generation_config.json and the tokenizer's. A translation model that is no MarianMT
// is written in weft's own layout: its tensors by their own names and shapes, the model section of the job as
// config.json, its tokenizers as they are. The checkpoint may be of any layout; tensors are read and written one by
// one. `dtype` is the type of stored weights; nullopt: BF16 if the model was imported in BF16 and not trained since,
// else F32, as in the checkpoint. The header's metadata names the origin of the weights: the checkpoint's step and
// provenance, and `origin`, the exporter.
//
// If the run trains adapters (lora), `adapter` writes the adapters alone, as peft loads them beside the model that they
// adapt: adapter_model.safetensors and adapter_config.json. ConfigError if `adapter` is set for a run without adapters,
// or not set for a run with adapters: weft merge adds them to the weights.
//
// DataError naming the key or tensor if no family can represent a GPT or the files cannot represent its tokenizer.
ExportReport export_model(const fs::path& checkpoint, const fs::path& out, std::optional<StoredType> dtype,
                          const nlohmann::ordered_json& origin, bool adapter = false);

}  // namespace weft
