// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/tensor.h"

// The place and form of each parameter of weft's GPT in a GPT-2 that `transformers` stored.
namespace weft {

enum class Gpt2Form : uint8_t {
  Same,        // element for element
  Transposed,  // [out, in] in weft, a "Conv1D" [in, out] in GPT-2
  // Queries, keys and values: (heads, 3, head_dim, in) in weft, so that a share of the heads is one piece of memory;
  // [in, 3 x heads x head_dim] in GPT-2, all queries first. Biases have no `in`.
  Qkv,
};

struct Gpt2Place {
  std::string name;  // without the prefix "transformer.", which lm_head.weight never has
  Gpt2Form form = Gpt2Form::Same;
};

inline constexpr std::string_view kGpt2Prefix = "transformer.";
inline constexpr std::string_view kGpt2Head = "lm_head.weight";

// "decoder.3.ffn.up.weight" is at {"h.3.mlp.c_fc.weight", Transposed}. nullopt if GPT-2 has no such parameter.
std::optional<Gpt2Place> gpt2_place(std::string_view parameter);
// Whether `name` (without prefix) is a causal mask, which early versions stored with the weights.
bool is_gpt2_mask(std::string_view name);

// GPT-2's shape for a parameter whose shape in weft is `shape`.
Shape gpt2_shape(const Shape& shape, Gpt2Form form);
// Copy a whole tensor; `shape` is its shape in weft.
void from_gpt2(Gpt2Form form, const Shape& shape, std::span<const float> theirs, std::span<float> ours);
void to_gpt2(Gpt2Form form, const Shape& shape, std::span<const float> ours, std::span<float> theirs);

}  // namespace weft
