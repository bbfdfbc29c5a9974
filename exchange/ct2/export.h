// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/files.h"
#include "checkpoint/safetensors/safetensors.h"

namespace weft {

// Writes a checkpoint's model as CTranslate2 reads it, into the directory `out`, which must not exist: model.bin,
// config.json, the vocabulary (or those of both sides), and tokenizer.json of a tokenizer that has one. A GPT becomes a
// TransformerDecoderSpec, a translation model a TransformerSpec; the name is returned. The checkpoint may be of any
// layout; tensors are read and written one by one. `dtype` is as in export_model(). The checkpoint's step and
// provenance, and `origin`, the exporter, stand in config.json.
//
// ConfigError if the run trains adapters that are not merged. DataError naming the key of the job and its value if
// CTranslate2 computes something else, or naming a variable or tokens that its files cannot hold.
std::string export_ct2(const fs::path& checkpoint, const fs::path& out, std::optional<StoredType> dtype,
                       const nlohmann::ordered_json& origin);

}  // namespace weft
