// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "base/files.h"

namespace weft {

// Reads a language or translation model as `transformers` saves it (config.json, model.safetensors or its shards, the
// tokenizer's files) and writes the checkpoint directory `out`, which must not exist: master weights, a job whose model
// section describes the model, and the tokenizers. Tensors are read and written one by one, so that memory holds only
// the largest of weft's parameters. `origin` is added to the provenance, with the directory that the model came from.
//
// DataError naming file and tensor or field for everything that the families (family.h), read_hugging_face_tokenizer()
// and read_translation_tokenizers() refuse, for a tensor that is missing, unknown, or of another shape or dtype, and
// for one that differs from another, such as lm_head.weight from the embedding, although the two are tied. What a
// family ignores may be there.
void import_hugging_face(const fs::path& directory, const fs::path& out, nlohmann::ordered_json origin);

}  // namespace weft
