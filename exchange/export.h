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
  std::string architecture;   // GPT2LMHeadModel, MarianMTModel, or weft
  std::string why_not_other;  // weft: the key of the job that no MarianMT can have, and why
};

// Writes a checkpoint's model as `transformers` saves it, into the directory `out`, which must not exist: a GPT as
// GPT2LMHeadModel, a translation model as MarianMTModel. model.safetensors, config.json, generation_config.json and the
// tokenizer's files. A translation model that is no MarianMT is written in weft's own layout: its tensors by their own
// names and shapes, the model section of the job as config.json, its tokenizers as they are. The checkpoint may be of
// any layout; tensors are read and written one by one. `dtype` is what weights are stored as; nothing: BF16 if the
// model was imported in BF16 and not trained since, else F32, in which they are kept. The header's metadata says where
// the weights come from: the checkpoint's step and provenance, and `origin`, the program that exported it.
//
// If the run trains adapters (lora), `adapter` writes these alone, as peft loads them beside the model that they
// adapt: adapter_model.safetensors and adapter_config.json. ConfigError without adapters, or if they are to be left
// out: weft merge puts them into the weights.
//
// DataError naming key or tensor if GPT-2 cannot represent a GPT, or the files its tokenizer.
ExportReport export_model(const fs::path& checkpoint, const fs::path& out, std::optional<StoredType> dtype,
                          const nlohmann::ordered_json& origin, bool adapter = false);

}  // namespace weft
