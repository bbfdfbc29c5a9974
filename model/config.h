// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/config/fields.h"
#include "base/divide_up.h"
#include "kernels/ops/activation.h"
#include "kernels/ops/embed.h"
#include "kernels/ops/heads.h"
#include "kernels/ops/residual_norm.h"
#include "model/layers/rotary_config.h"

namespace weft {

enum class NormPlacement : uint8_t { Pre, Post, Branch };
enum class CrossNorm : uint8_t { Query, Memory };
enum class Positions : uint8_t { Learned, Sinusoidal, Rotary, None };
// What a query q and a key k score: q k / sqrt(head_dim), q k, or the cosine of their angle.
enum class AttentionScore : uint8_t { Scaled, Plain, Cosine };
enum class Tying : uint8_t { None, Output, All };
enum class InitScheme : uint8_t { Gpt2, Xavier };
// The activations that backward recomputes instead of keeping them: none; the queries, keys, values and output of every
// attention; all activations inside a block.
enum class Recompute : uint8_t { None, Attention, Block };

template <>
struct EnumNames<Recompute> {
  static constexpr auto kNames = enum_names<Recompute>("none", "attention", "block");
};
template <>
struct EnumNames<NormPlacement> {
  static constexpr auto kNames = enum_names<NormPlacement>("pre", "post", "branch");
};
template <>
struct EnumNames<CrossNorm> {
  static constexpr auto kNames = enum_names<CrossNorm>("query", "memory");
};
template <>
struct EnumNames<Positions> {
  static constexpr auto kNames = enum_names<Positions>("learned", "sinusoidal", "rotary", "none");
};
template <>
struct EnumNames<AttentionScore> {
  static constexpr auto kNames = enum_names<AttentionScore>("scaled", "plain", "cosine");
};
template <>
struct EnumNames<SinusoidForm> {
  static constexpr auto kNames = enum_names<SinusoidForm>("interleaved", "halves", "halves_from_one", "per_column");
};
template <>
struct EnumNames<Tying> {
  static constexpr auto kNames = enum_names<Tying>("none", "output", "all");
};
template <>
struct EnumNames<InitScheme> {
  static constexpr auto kNames = enum_names<InitScheme>("gpt2", "xavier");
};

struct DropoutConfig {
  double embedding = 0;
  double residual = 0;
  double ffn = 0;
  double attention = 0;

  template <class Visitor>
  void fields(Visitor& v) {
    const Range probability{.min = 0, .max = 0.95};
    v.field("embedding", embedding, "Probability of dropping an element after the embedding.", probability);
    v.field("residual", residual, "Probability of dropping an element of a branch before it joins the residual.",
            probability);
    v.field("ffn", ffn, "Probability of dropping an element after the feed-forward activation.", probability);
    v.field("attention", attention, "Probability of dropping an attention weight.", probability);
  }
};

// The shapes and options of both models. Decoder-only if encoder_layers is 0. Sizes left at 0 are derived.
struct TransformerConfig {
  int64_t layers = 4;
  int64_t encoder_layers = 0;
  int64_t width = 128;
  int64_t heads = 4;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t ffn = 0;
  int64_t embedding_width = 0;
  int64_t padding_id = -1;
  int64_t max_length = 256;
  NormKind norm_kind = NormKind::Layer;
  NormPlacement norm_placement = NormPlacement::Pre;
  CrossNorm cross_norm = CrossNorm::Query;
  bool final_norm = true;
  double norm_epsilon = 1e-5;
  Positions positions = Positions::Learned;
  SinusoidForm sinusoid_form = SinusoidForm::Interleaved;
  double sinusoid_base = 10000;
  RotaryConfig rotary;
  AttentionScore attention_score = AttentionScore::Scaled;
  QkNorm qk_norm = QkNorm::None;
  std::vector<int64_t> attention_windows;
  Activation activation = Activation::GeluTanh;
  bool gated = false;
  bool bias = true;
  bool qkv_bias = false;
  bool norm_bias = true;
  bool output_bias = false;
  Tying tying = Tying::Output;
  bool scale_embedding = false;
  DropoutConfig dropout;
  InitScheme init = InitScheme::Gpt2;
  double init_std = 0.02;

  // What is normed before attention: a cosine needs the lengths of queries and keys.
  QkNorm derived_qk_norm() const { return attention_score == AttentionScore::Cosine ? QkNorm::Head : qk_norm; }
  // The keys that a query of self-attention sees in block `layer` of a stack; 0: all.
  int64_t attention_window(int layer) const {
    return attention_windows.empty() ? 0 : attention_windows[static_cast<size_t>(layer) % attention_windows.size()];
  }
  // Whether vectors of positions are added to those of tokens.
  bool adds_positions() const { return positions == Positions::Learned || positions == Positions::Sinusoidal; }
  int64_t derived_kv_heads() const { return kv_heads > 0 ? kv_heads : heads; }
  int64_t derived_head_dim() const { return head_dim > 0 ? head_dim : width / heads; }
  int64_t derived_ffn() const {
    if (ffn > 0) return ffn;
    // With a gate, two thirds as many features have the same number of weights; 256: as in Llama.
    return gated ? divide_up(8 * width, int64_t{3 * 256}) * 256 : 4 * width;
  }
  int64_t derived_embedding_width() const { return embedding_width > 0 ? embedding_width : width; }
  TransformerConfig with_derived_sizes() const {
    TransformerConfig stated = *this;
    stated.kv_heads = derived_kv_heads(), stated.head_dim = derived_head_dim();
    stated.ffn = derived_ffn(), stated.embedding_width = derived_embedding_width();
    return stated;
  }

  template <class Visitor>
  void fields(Visitor& v) {
    const Range size{.min = 1, .max = 1 << 20};
    const Range optional_size{.min = 0, .max = 1 << 20};
    v.field("layers", layers, "Blocks of the decoder (of the only stack in GPT).", Range{.min = 1, .max = 1000});
    v.field("encoder_layers", encoder_layers, "Blocks of the encoder; translation needs at least 1, GPT has 0.",
            Range{.min = 0, .max = 1000});
    v.field("width", width, "Features of a token in the residual stream.", size);
    v.field("heads", heads, "Attention heads.", size);
    v.field("kv_heads", kv_heads, "Key/value heads (grouped-query attention); 0 means as many as heads.",
            optional_size);
    v.field("head_dim", head_dim, "Features of one head; 0 means width / heads.", optional_size);
    v.field(
        "ffn", ffn,
        "Hidden features of the feed-forward layer; 0 means 4 x width, or 8/3 x width up to a multiple of 256 if it is "
        "gated.",
        Range{.min = 0, .max = 1 << 22});
    v.field("embedding_width", embedding_width,
            "Features of the token embedding, projected to the width if they differ; 0 means width.", optional_size);
    v.field("padding_id", padding_id,
            "A token whose embedding begins at zero and is not trained, as padding_idx of PyTorch; -1: none.",
            Range{.min = -1, .max = 1 << 24});
    v.field("max_length", max_length, "Longest sequence in tokens: the size of the position table.",
            Range{.min = 1, .max = 1 << 24});
    v.field("norm_kind", norm_kind,
            "How norms scale a token's features: LayerNorm (layer), or RMSNorm, which subtracts no mean and has no "
            "bias (rms; norm_bias is then false).");
    v.field("norm_placement", norm_placement,
            "A norm before each branch (pre), after each residual sum (post), or of what a branch gives, before it is "
            "added (branch).");
    v.field("cross_norm", cross_norm,
            "What the norm before a cross-attention reads: the stream that queries come from (query), or the "
            "encoder's output that keys and values come from (memory).");
    v.field("final_norm", final_norm, "A norm after the last block of each stack.");
    v.field("norm_epsilon", norm_epsilon, "Added to the variance, or in RMSNorm to the mean square.",
            Range{.min = 1e-12, .max = 1});
    v.field(
        "positions", positions,
        "How positions enter: a learned table, sinusoids, queries and keys of self-attention that turn (rotary), or "
        "not at all.");
    v.field(
        "sinusoid_form", sinusoid_form,
        "Columns of sinusoidal positions, t, i and c from 0, w(e) = base^(-e / width): interleaved, sin(t w(2i)) and "
        "cos(t w(2i)) side by side (Vaswani et al. 2017); halves, all these sines, then the cosines (MarianMT); "
        "halves_from_one, the halves of (t + 1) w(2i + 2); per_column, sin(t w(c)) in even columns c, cos(t w(c)) in "
        "odd ones.");
    v.field("sinusoid_base", sinusoid_base, "Longest wavelength of sinusoidal positions, over 2 pi.",
            Range{.min = 1.5, .max = 1e9});
    v.field("rotary", rotary, "Rotary positions.");
    v.field("attention_score", attention_score,
            "What attention weighs keys by: q k / sqrt(head_dim) (scaled), q k (plain), or the cosine of their angle.");
    v.field("qk_norm", qk_norm,
            "RMSNorm of queries and keys before they are turned: of each head (head; Qwen 3), or of all features of a "
            "token's queries, and of its keys (width; OLMo 2).");
    v.field(
        "attention_windows", attention_windows,
        "How far self-attention looks, in turn for the blocks of each stack: at the tokens whose distance is below the "
        "number, or at all (0). [0, 256] has full and banded layers in turn (GPT-3); [4096] slides in all (Mistral).",
        Range{.min = 0, .max = 1 << 24});
    v.field("activation", activation,
            "Activation of the feed-forward layer. none is for gated layers: others it would make linear.");
    v.field(
        "gated", gated,
        "The activation of one product multiplies another product (Shazeer 2020): SwiGLU with silu, GeGLU with gelu.");
    v.field("bias", bias, "Biases in attention and feed-forward products.");
    v.field("qkv_bias", qkv_bias,
            "Biases in the products for queries, keys and values although bias is false, as Qwen 2 has them.");
    v.field("norm_bias", norm_bias, "Biases in norms; RMSNorm has none.");
    v.field("output_bias", output_bias, "A bias on the logits.");
    v.field("tying", tying,
            "Embeddings that share one table: none, output (target with output), all (source, target and output).");
    v.field("scale_embedding", scale_embedding, "Multiply token embeddings by sqrt(width) before positions are added.");
    v.field("dropout", dropout, "Dropout probabilities.");
    // A resumed run has its weights already.
    v.field(
        "init", init,
        "gpt2: normal, residual projections divided by the square root of their stack's branches (2 a block, 3 with "
        "cross-attention); xavier: uniform within sqrt(6 / (in + out)) "
        "(Glorot and Bengio 2010), for queries, keys and values within 1/sqrt(2) of that with out = heads x head_dim "
        "(as fairseq), embeddings normal with standard deviation 1/sqrt(width).",
        Affects::Nothing);
    v.field("init_std", init_std, "Standard deviation of the gpt2 scheme.",
            {Range{.min = 0, .max = 10}, Affects::Nothing});
  }
};

// Sizes that a model takes from its data and not from its configuration.
struct Vocabularies {
  int64_t source = 0;  // 0 for GPT
  int64_t target = 0;
};

}  // namespace weft
