// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "base/files.h"
#include "checkpoint/safetensors/safetensors.h"
#include "data/tokenizer/tokenizer.h"
#include "model/config.h"

// config.json of a GPT-2 in `transformers`, and its meaning in weft.
namespace weft {

struct Gpt2Config {
  TransformerConfig model;
  int64_t vocabulary = 0;  // rows of the embedding
};

// DataError naming the file and the field if config.json describes an architecture other than GPT-2's language model,
// or requires something that weft's model cannot do: another activation, another scale of attention scores,
// cross-attention. Fields that change nothing in the model (about generation, summaries, versions) are ignored.
Gpt2Config read_gpt2_config(const fs::path& config_json);

// DataError naming the key of the model section, its value and GPT-2's, if no GPT-2 computes the same. A key that is
// unknown to the exporter must have its default.
void check_is_gpt2(const TransformerConfig& model, const std::string& where);

// The contents of config.json and generation_config.json.
std::string gpt2_config_json(const Gpt2Config& config, StoredType dtype, const Tokenizer& tokenizer);
std::string generation_config_json(const Tokenizer& tokenizer);

}  // namespace weft
