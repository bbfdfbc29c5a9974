#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/files.h"
#include "checkpoint/safetensors.h"

namespace weft {

// Writes a checkpoint's GPT as `transformers` saves a GPT2LMHeadModel, into the directory `out`, which must not exist:
// model.safetensors, config.json, generation_config.json and the tokenizer's files. The checkpoint may be of any
// layout; tensors are read and written one by one. `dtype` is what weights are stored as; nothing: BF16 if the model
// was imported in BF16 and not trained since, else F32, in which they are kept. The header's metadata says where the
// weights come from: the checkpoint's step and provenance, and `origin`, who exported it.
//
// DataError naming key or tensor if GPT-2 cannot represent the model, or the files its tokenizer.
void export_gpt2(const fs::path& checkpoint, const fs::path& out, std::optional<StoredType> dtype,
                 const nlohmann::ordered_json& origin);

}  // namespace weft
