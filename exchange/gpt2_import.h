// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "base/files.h"

namespace weft {

// Reads a GPT-2 as `transformers` saves it (config.json, model.safetensors or its shards, the tokenizer's files) and
// writes the checkpoint directory `out`, which must not exist: master weights, a job whose model section says what the
// model is, the tokenizer. Tensors are read and written one by one; the largest is all that memory holds. `origin` goes
// into the provenance, with where the model came from.
//
// DataError naming file and tensor or field: what read_gpt2_config() and read_hugging_face_tokenizer() refuse; a tensor
// that is missing, unknown, or of another shape or dtype; an lm_head.weight that is not the embedding although the two
// are tied. Masks are ignored.
void import_gpt2(const fs::path& directory, const fs::path& out, nlohmann::ordered_json origin);

}  // namespace weft
