// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

#include "base/enum_table.h"
#include "kernels/ops/heads.h"
#include "model/config.h"

// What distinguishes the families of `transformers` that are built like Llama.
namespace weft {

enum class LlamaKind : uint8_t { Llama, Mistral, Qwen2, Qwen3, Olmo2 };

// Which biases products have: none; those of queries, keys and values; as two fields say, for all or none.
enum class Biases : uint8_t { None, Qkv, Stated };
// Which layers have windows: none; all, of one width; those that a list says.
enum class Windows : uint8_t { None, All, Listed };

struct LlamaFacts {
  std::string_view name, type, architecture, bare_architecture;
  Biases biases = Biases::None;
  Windows windows = Windows::None;
  QkNorm qk_norm = QkNorm::None;
  NormPlacement norm_placement = NormPlacement::Pre;
  // What config.json leaves out. 0: as many as heads; the width over the heads.
  int64_t vocabulary = 32000, ffn = 11008, kv_heads = 0, head_dim = 0, max_length = 2048, window = 0;
  double norm_epsilon = 1e-6;
};

constexpr EnumTable<LlamaKind, LlamaFacts> kFacts = {{LlamaKind::Llama,
                                                      {.name = "Llama",
                                                       .type = "llama",
                                                       .architecture = "LlamaForCausalLM",
                                                       .bare_architecture = "LlamaModel",
                                                       .biases = Biases::Stated}},
                                                     {LlamaKind::Mistral,
                                                      {.name = "Mistral",
                                                       .type = "mistral",
                                                       .architecture = "MistralForCausalLM",
                                                       .bare_architecture = "MistralModel",
                                                       .windows = Windows::All,
                                                       .ffn = 14336,
                                                       .kv_heads = 8,
                                                       .max_length = 131072,
                                                       .window = 4096}},
                                                     {LlamaKind::Qwen2,
                                                      {.name = "Qwen 2",
                                                       .type = "qwen2",
                                                       .architecture = "Qwen2ForCausalLM",
                                                       .bare_architecture = "Qwen2Model",
                                                       .biases = Biases::Qkv,
                                                       .windows = Windows::Listed,
                                                       .vocabulary = 151936,
                                                       .ffn = 22016,
                                                       .kv_heads = 32,
                                                       .max_length = 32768,
                                                       .window = 4096}},
                                                     {LlamaKind::Qwen3,
                                                      {.name = "Qwen 3",
                                                       .type = "qwen3",
                                                       .architecture = "Qwen3ForCausalLM",
                                                       .bare_architecture = "Qwen3Model",
                                                       .windows = Windows::Listed,
                                                       .qk_norm = QkNorm::Head,
                                                       .vocabulary = 151936,
                                                       .ffn = 22016,
                                                       .kv_heads = 32,
                                                       .head_dim = 128,
                                                       .max_length = 32768,
                                                       .window = 4096}},
                                                     {LlamaKind::Olmo2,
                                                      {.name = "OLMo 2",
                                                       .type = "olmo2",
                                                       .architecture = "Olmo2ForCausalLM",
                                                       .bare_architecture = "Olmo2Model",
                                                       .qk_norm = QkNorm::Width,
                                                       .norm_placement = NormPlacement::Branch,
                                                       .vocabulary = 50304,
                                                       .norm_epsilon = 1e-5}}};

}  // namespace weft
