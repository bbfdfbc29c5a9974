// SPDX-License-Identifier: Apache-2.0
// GPT-2 in `transformers`. It stores the weights of products as "Conv1D", [in, out].
#include <array>
#include <nlohmann/json.hpp>

#include "base/divide_up.h"
#include "base/enum_table.h"
#include "exchange/family.h"

namespace weft {
namespace {

// Queries, keys and values are (heads, 3, head_dim, in) in weft, so that a share of the heads is one piece of memory;
// GPT-2 has all queries first.
enum class Gpt2Form : uint8_t { Same, Product, Qkv };

struct Gpt2Rule {
  std::string_view ours, theirs;
  Gpt2Form form = Gpt2Form::Same;
};

constexpr std::array kGpt2Outside = {
    Gpt2Rule{"decoder.embedding.tokens", "wte.weight"}, Gpt2Rule{"decoder.embedding.positions", "wpe.weight"},
    Gpt2Rule{"decoder.final_norm.weight", "ln_f.weight"}, Gpt2Rule{"decoder.final_norm.bias", "ln_f.bias"}};
// Names within block N: behind decoder.N. in weft, behind h.N. in GPT-2.
constexpr std::array kGpt2Block = {Gpt2Rule{"attention_norm.weight", "ln_1.weight"},
                                   Gpt2Rule{"attention_norm.bias", "ln_1.bias"},
                                   Gpt2Rule{"attention.qkv.weight", "attn.c_attn.weight", Gpt2Form::Qkv},
                                   Gpt2Rule{"attention.qkv.bias", "attn.c_attn.bias", Gpt2Form::Qkv},
                                   Gpt2Rule{"attention.output.weight", "attn.c_proj.weight", Gpt2Form::Product},
                                   Gpt2Rule{"attention.output.bias", "attn.c_proj.bias"},
                                   Gpt2Rule{"ffn_norm.weight", "ln_2.weight"},
                                   Gpt2Rule{"ffn_norm.bias", "ln_2.bias"},
                                   Gpt2Rule{"ffn.up.weight", "mlp.c_fc.weight", Gpt2Form::Product},
                                   Gpt2Rule{"ffn.up.bias", "mlp.c_fc.bias"},
                                   Gpt2Rule{"ffn.down.weight", "mlp.c_proj.weight", Gpt2Form::Product},
                                   Gpt2Rule{"ffn.down.bias", "mlp.c_proj.bias"}};

StoredPlace place_of(std::string name, const Shape& shape, Gpt2Form form) {
  switch (form) {
    case Gpt2Form::Same:
      break;
    case Gpt2Form::Product:
      return StoredPlace::of(std::move(name), shape, {{.height = shape[0]}}, true);
    case Gpt2Form::Qkv: {
      std::vector<RowBlocks> parts;
      for (int64_t part = 0; part < 3; ++part) {
        parts.push_back({.groups = shape[0], .blocks = 3, .first = part, .height = shape[2]});
      }
      return StoredPlace::of(std::move(name), shape, std::move(parts), true);
    }
  }
  return StoredPlace::same(std::move(name), shape);
}

// Whether the output product has the embedding's weight. There is one stack, so there are no tables but these two.
constexpr EnumTable<Tying, bool> kTied = {{Tying::None, false}, {Tying::Output, true}, {Tying::All, true}};

class Gpt2 : public Family {
 public:
  std::string_view name() const override { return "GPT-2"; }
  std::string_view type() const override { return "gpt2"; }
  std::string_view architecture() const override { return "GPT2LMHeadModel"; }
  std::string_view bare_architecture() const override { return "GPT2Model"; }
  std::string_view prefix() const override { return "transformer."; }

  DescribedModel read(const ConfigFile& file) const override;
  TransformerConfig nearest(const TransformerConfig& model) const override;
  nlohmann::ordered_json describe(const TransformerConfig& model) const override;
  TransformerConfig as_stored(const TransformerConfig& model) const override {
    TransformerConfig stored = model;
    stored.bias = stored.norm_bias = true;
    return stored;
  }
  // Causal masks, which early versions stored with the weights.
  bool ignores(std::string_view tensor) const override {
    const auto block = in_block(tensor, "h.");
    return block && (block->rest == "attn.bias" || block->rest == "attn.masked_bias");
  }

 private:
  std::vector<StoredPlace> body_places(const std::string& parameter, const Shape& shape, Tying) const override;
};

DescribedModel Gpt2::read(const ConfigFile& file) const {
  file.only("scale_attn_weights", true, true, "weft divides scores by the square root of a head's features");
  file.only("scale_attn_by_inverse_layer_idx", false, false, "weft scales the scores of all layers alike");
  file.only("reorder_and_upcast_attn", false, false, "weft has one order of operations in attention");
  file.only("add_cross_attention", false, false, "weft's GPT has a decoder alone");
  return {.config = {.layers = file.size("n_layer", 12),
                     .width = file.size("n_embd", 768),
                     .heads = file.size("n_head", 12),
                     .ffn = file.size("n_inner", 0),
                     .max_length = file.size("n_positions", 1024),
                     .norm_epsilon = file.number("layer_norm_epsilon", 1e-5),
                     .activation = file.activation("activation_function", Activation::GeluTanh),
                     .tying = file.flag("tie_word_embeddings", true) ? Tying::Output : Tying::None,
                     .dropout = {.embedding = file.number("embd_pdrop", 0.1),
                                 .residual = file.number("resid_pdrop", 0.1),
                                 .attention = file.number("attn_pdrop", 0.1)},
                     .init_std = file.number("initializer_range", 0.02)},
          .vocabularies = {.target = file.size("vocab_size", 50257)},
          .ids = {}};
}

// TransformerConfig's defaults are a GPT-2.
TransformerConfig Gpt2::nearest(const TransformerConfig& m) const {
  TransformerConfig gpt2{.layers = m.layers,
                         .width = m.width,
                         .heads = m.heads,
                         .kv_heads = m.heads,
                         .head_dim = divide_up(m.width, m.heads),
                         .ffn = m.derived_ffn(),
                         .embedding_width = m.width,
                         .max_length = m.max_length,
                         .norm_epsilon = m.norm_epsilon,
                         .sinusoid_form = m.sinusoid_form,  // has no effect, since positions are learned
                         .sinusoid_base = m.sinusoid_base,
                         .bias = m.bias,  // missing biases are written as zeros
                         .norm_bias = m.norm_bias,
                         .tying = m.tying,
                         .dropout = m.dropout,
                         .init = m.init,
                         .init_std = m.init_std};
  if (activation_name(m.activation)) gpt2.activation = m.activation;
  return gpt2;
}

nlohmann::ordered_json Gpt2::describe(const TransformerConfig& m) const {
  nlohmann::ordered_json json = {{"activation_function", activation_name(m.activation).value()},
                                 {"n_positions", m.max_length},
                                 {"n_ctx", m.max_length},
                                 {"n_embd", m.width},
                                 {"n_layer", m.layers},
                                 {"n_head", m.heads},
                                 {"n_inner", nullptr},
                                 {"layer_norm_epsilon", m.norm_epsilon},
                                 {"initializer_range", m.init_std},
                                 {"embd_pdrop", m.dropout.embedding},
                                 {"resid_pdrop", m.dropout.residual},
                                 {"attn_pdrop", m.dropout.attention},
                                 {"scale_attn_weights", true},
                                 {"scale_attn_by_inverse_layer_idx", false},
                                 {"reorder_and_upcast_attn", false},
                                 {"tie_word_embeddings", kTied[m.tying]}};
  if (m.derived_ffn() != 4 * m.width) json["n_inner"] = m.derived_ffn();
  return json;
}

std::vector<StoredPlace> Gpt2::body_places(const std::string& parameter, const Shape& shape, Tying) const {
  for (const auto& [ours, theirs, form] : kGpt2Outside) {
    if (parameter == ours) return {place_of(std::string(theirs), shape, form)};
  }
  const auto block = in_block(parameter, "decoder.");
  for (const auto& [ours, theirs, form] : kGpt2Block) {
    if (!block || block->rest != ours) continue;
    return {place_of(fmt::format("h.{}.{}", block->number, theirs), shape, form)};
  }
  return {};
}

}  // namespace

const Family& gpt2_family() {
  static const Gpt2 family;
  return family;
}

}  // namespace weft
