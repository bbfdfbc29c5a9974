// SPDX-License-Identifier: Apache-2.0
#include "exchange/gpt2_tensors.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace weft {
namespace {

struct Rule {
  std::string_view ours, theirs;
  Gpt2Form form = Gpt2Form::Same;
};

constexpr std::array kOutside = {Rule{"decoder.embedding.tokens", "wte.weight"},
                                 Rule{"decoder.embedding.positions", "wpe.weight"},
                                 Rule{"decoder.final_norm.weight", "ln_f.weight"},
                                 Rule{"decoder.final_norm.bias", "ln_f.bias"}, Rule{"output.weight", kGpt2Head}};
// Names within block N: behind decoder.N. in weft, behind h.N. in GPT-2.
constexpr std::array kBlock = {Rule{"attention_norm.weight", "ln_1.weight"},
                               Rule{"attention_norm.bias", "ln_1.bias"},
                               Rule{"attention.qkv.weight", "attn.c_attn.weight", Gpt2Form::Qkv},
                               Rule{"attention.qkv.bias", "attn.c_attn.bias", Gpt2Form::Qkv},
                               Rule{"attention.output.weight", "attn.c_proj.weight", Gpt2Form::Transposed},
                               Rule{"attention.output.bias", "attn.c_proj.bias"},
                               Rule{"ffn_norm.weight", "ln_2.weight"},
                               Rule{"ffn_norm.bias", "ln_2.bias"},
                               Rule{"ffn.up.weight", "mlp.c_fc.weight", Gpt2Form::Transposed},
                               Rule{"ffn.up.bias", "mlp.c_fc.bias"},
                               Rule{"ffn.down.weight", "mlp.c_proj.weight", Gpt2Form::Transposed},
                               Rule{"ffn.down.bias", "mlp.c_proj.bias"}};

// "3" and "ffn.up.weight" of "decoder.3.ffn.up.weight" behind "decoder."; nullopt if a name is outside all blocks.
struct InBlock {
  std::string_view number, rest;
};
std::optional<InBlock> in_block(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  if (digits == 0 || digits >= name.size() || name[digits] != '.') return std::nullopt;
  return InBlock{name.substr(0, digits), name.substr(digits + 1)};
}

// A product's weight or bias as a matrix, [out, in] in weft and [in, out] in GPT-2, and GPT-2's column of a weft row.
struct Transposition {
  int64_t out = 0, in = 0;
  int64_t heads = 0, features = 0;  // Qkv: number of heads, features of each head; else 0

  Transposition(Gpt2Form form, const Shape& shape) {
    const bool qkv = form == Gpt2Form::Qkv, bias = qkv && shape.rank() == 3;
    in = bias ? 1 : shape[-1];
    out = shape.elements() / std::max<int64_t>(in, 1);
    if (qkv) heads = shape[0], features = shape[2];
  }
  int64_t column(int64_t row) const {
    if (heads == 0) return row;
    const int64_t head = row / (3 * features), part = row / features % 3;
    return (part * heads + head) * features + row % features;
  }
};

}  // namespace

std::optional<Gpt2Place> gpt2_place(std::string_view parameter) {
  for (const auto& [ours, theirs, form] : kOutside) {
    if (parameter == ours) return Gpt2Place{std::string(theirs), form};
  }
  const auto block = in_block(parameter, "decoder.");
  if (!block) return std::nullopt;
  for (const auto& [ours, theirs, form] : kBlock) {
    if (block->rest == ours) return Gpt2Place{fmt::format("h.{}.{}", block->number, theirs), form};
  }
  return std::nullopt;
}

bool is_gpt2_mask(std::string_view name) {
  const auto block = in_block(name, "h.");
  return block && (block->rest == "attn.bias" || block->rest == "attn.masked_bias");
}

Shape gpt2_shape(const Shape& shape, Gpt2Form form) {
  if (form == Gpt2Form::Same) return shape;
  const Transposition t(form, shape);
  return form == Gpt2Form::Qkv && shape.rank() == 3 ? Shape{t.out} : Shape{t.in, t.out};
}

void from_gpt2(Gpt2Form form, const Shape& shape, std::span<const float> theirs, std::span<float> ours) {
  if (form == Gpt2Form::Same) {
    std::ranges::copy(theirs, ours.begin());
    return;
  }
  const Transposition t(form, shape);
  for (int64_t row = 0; row < t.out; ++row) {
    const int64_t column = t.column(row);
    for (int64_t i = 0; i < t.in; ++i) ours[row * t.in + i] = theirs[i * t.out + column];
  }
}

void to_gpt2(Gpt2Form form, const Shape& shape, std::span<const float> ours, std::span<float> theirs) {
  if (form == Gpt2Form::Same) {
    std::ranges::copy(ours, theirs.begin());
    return;
  }
  const Transposition t(form, shape);
  for (int64_t row = 0; row < t.out; ++row) {
    const int64_t column = t.column(row);
    for (int64_t i = 0; i < t.in; ++i) theirs[i * t.out + column] = ours[row * t.in + i];
  }
}

}  // namespace weft
