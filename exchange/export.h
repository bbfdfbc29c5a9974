#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/files.h"
#include "checkpoint/safetensors.h"

namespace weft {

// Writes a checkpoint's model as `transformers` saves it, into the directory `out`, which must not exist: a GPT as
// GPT2LMHeadModel, a translation model as MarianMTModel. model.safetensors, config.json, generation_config.json and the
// tokenizer's files. The checkpoint may be of any layout; tensors are read and written one by one. `dtype` is what
// weights are stored as; nothing: BF16 if the model was imported in BF16 and not trained since, else F32, in which they
// are kept. The header's metadata says where the weights come from: the checkpoint's step and provenance, and `origin`,
// who exported it.
//
// DataError naming key or tensor if the architecture cannot represent the model, or the files its tokenizer.
void export_model(const fs::path& checkpoint, const fs::path& out, std::optional<StoredType> dtype,
                  const nlohmann::ordered_json& origin);

}  // namespace weft
