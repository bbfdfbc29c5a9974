// SPDX-License-Identifier: Apache-2.0
// MarianMT in `transformers`: post-norm blocks, sinusoidal positions with all sines before all cosines, biases
// everywhere, and one table of embeddings for source, target and output, or one for each language.
#include <array>
#include <nlohmann/json.hpp>

#include "base/divide_up.h"
#include "base/error.h"
#include "exchange/family.h"
#include "kernels/ops/embed.h"

namespace weft {
namespace {

// A tensor's names in weft and in MarianMT within a block, and the part of a fused product that MarianMT stores under
// its name: of queries, keys and values, or of keys and values. parts 0: the whole tensor.
struct MarianRule {
  std::string_view ours, theirs;
  int64_t part = 0, parts = 0;
};
constexpr std::array kMarianBlock = {MarianRule{"attention.qkv", "self_attn.q_proj", 0, 3},
                                     MarianRule{"attention.qkv", "self_attn.k_proj", 1, 3},
                                     MarianRule{"attention.qkv", "self_attn.v_proj", 2, 3},
                                     MarianRule{"attention.output", "self_attn.out_proj"},
                                     MarianRule{"attention_norm", "self_attn_layer_norm"},
                                     MarianRule{"cross.q", "encoder_attn.q_proj", 0, 1},
                                     MarianRule{"cross.kv", "encoder_attn.k_proj", 0, 2},
                                     MarianRule{"cross.kv", "encoder_attn.v_proj", 1, 2},
                                     MarianRule{"cross.output", "encoder_attn.out_proj"},
                                     MarianRule{"cross_norm", "encoder_attn_layer_norm"},
                                     MarianRule{"ffn.up", "fc1"},
                                     MarianRule{"ffn.down", "fc2"},
                                     MarianRule{"ffn_norm", "final_layer_norm"}};

constexpr std::string_view kSourceTable = "encoder.embedding.tokens", kTargetTable = "decoder.embedding.tokens";
constexpr std::string_view kTheirSource = "encoder.embed_tokens.weight", kTheirTarget = "decoder.embed_tokens.weight";
constexpr SinusoidForm kForm = SinusoidForm::Halves;
constexpr double kBase = 10000;
constexpr std::string_view kShared = "shared.weight", kLogitsBias = "final_logits_bias";

class Marian : public Family {
 public:
  std::string_view name() const override { return "MarianMT"; }
  std::string_view type() const override { return "marian"; }
  std::string_view architecture() const override { return "MarianMTModel"; }
  std::string_view bare_architecture() const override { return "MarianModel"; }
  std::string_view prefix() const override { return "model."; }
  bool translates() const override { return true; }

  DescribedModel read(const ConfigFile& file) const override;
  TransformerConfig nearest(const TransformerConfig& model) const override;
  nlohmann::ordered_json describe(const TransformerConfig& model) const override;
  TransformerConfig as_stored(const TransformerConfig& model) const override {
    TransformerConfig stored = model;
    stored.bias = stored.norm_bias = stored.output_bias = true;
    return stored;
  }
  // The sinusoids, which early versions stored with the weights.
  bool ignores(std::string_view tensor) const override {
    return tensor == "encoder.embed_positions.weight" || tensor == "decoder.embed_positions.weight";
  }
  std::optional<std::vector<float>> computed_table(const Shape& shape) const override {
    const bool is_table = shape.rank() == 2 && shape[1] > 0;
    return is_table ? sinusoids(shape[0], shape[1], kForm, kBase) : std::vector<float>();
  }
  std::optional<Tie> tie(std::string_view tensor, Tying tying) const override;
  // Files of the class without the output product lack it, and so may others.
  bool zero_if_absent(std::string_view tensor) const override { return tensor == kLogitsBias; }

 private:
  std::vector<StoredPlace> head_places(const std::string& parameter, const Shape& shape) const override {
    if (parameter != "output.bias") return Family::head_places(parameter, shape);
    return {StoredPlace::same(std::string(kLogitsBias), {1, shape[0]})};
  }
  std::vector<StoredPlace> body_places(const std::string& parameter, const Shape& shape, Tying tying) const override;
};

// A field that both stacks have, and that must be the same in both.
int64_t of_both(const ConfigFile& file, const char* encoder, const char* decoder, int64_t absent) {
  const int64_t size = file.size(encoder, absent);
  if (file.size(decoder, absent) != size) file.refuse(decoder, fmt::format("{} is {}", encoder, size));
  return size;
}

void check_same_model(const ConfigFile& file) {
  file.only("is_encoder_decoder", true, true, "weft imports a MarianMT with both stacks");
  file.only("normalize_before", false, false, "MarianMT has its norms after the branches");
  file.only("normalize_embedding", false, false, "weft has no norm after the embedding");
  file.only("add_final_layer_norm", false, false, "MarianMT has no norm after the last block");
  file.only("static_position_embeddings", true, true, "MarianMT has sinusoidal positions");
  for (const char* name : {"encoder_layerdrop", "decoder_layerdrop"}) {
    if (file.number(name, 0) != 0) file.refuse(name, "weft drops no layers");
  }
}

Tying read_tying(const ConfigFile& file) {
  const bool shared = file.flag("share_encoder_decoder_embeddings", true),
             tied = file.flag("tie_word_embeddings", true);
  if (shared && !tied) {
    file.refuse("tie_word_embeddings", "weft's output has the table that source and target share");
  }
  return shared ? Tying::All : tied ? Tying::Output : Tying::None;
}

TranslationIds read_ids(const ConfigFile& file, Tying tying) {
  TranslationIds ids{.source_vocabulary = file.size("vocab_size", 58101), .target_vocabulary = 0};
  ids.target_vocabulary = file.size("decoder_vocab_size", ids.source_vocabulary);
  if (tying == Tying::All && ids.target_vocabulary != ids.source_vocabulary) {
    file.refuse("decoder_vocab_size",
                fmt::format("both languages share the embeddings of {} tokens (vocab_size)", ids.source_vocabulary));
  }
  const auto id = [&](const char* name, int64_t absent) {
    const int64_t value = file.size(name, absent);
    if (value >= ids.target_vocabulary) file.refuse(name, fmt::format("ids end at {}", ids.target_vocabulary - 1));
    return value;
  };
  ids.start = id("decoder_start_token_id", 58100);
  ids.end = id("eos_token_id", 0);
  if (file.has("pad_token_id") || !file.states("pad_token_id")) ids.pad = id("pad_token_id", 58100);
  return ids;
}

DescribedModel Marian::read(const ConfigFile& file) const {
  check_same_model(file);
  const Tying tying = read_tying(file);
  const TranslationIds ids = read_ids(file, tying);
  TransformerConfig model = nearest({.layers = file.size("decoder_layers", 12),
                                     .encoder_layers = file.size("encoder_layers", 12),
                                     .width = file.size("d_model", 1024),
                                     .heads = of_both(file, "encoder_attention_heads", "decoder_attention_heads", 16),
                                     .ffn = of_both(file, "encoder_ffn_dim", "decoder_ffn_dim", 4096),
                                     .max_length = file.size("max_position_embeddings", 1024),
                                     .activation = file.activation("activation_function", Activation::Gelu),
                                     .output_bias = true,
                                     .tying = tying,
                                     .scale_embedding = file.flag("scale_embedding", false),
                                     .init_std = file.number("init_std", 0.02)});
  // Sizes that follow from others are left to be derived, so that those of config.json are what is checked.
  model.kv_heads = model.head_dim = model.embedding_width = 0;
  const double dropout = file.number("dropout", 0.1);
  model.dropout = {.embedding = dropout,
                   .residual = dropout,
                   .ffn = file.number("activation_dropout", 0),
                   .attention = file.number("attention_dropout", 0)};
  return {
      .config = model, .vocabularies = {.source = ids.source_vocabulary, .target = ids.target_vocabulary}, .ids = ids};
}

// A key that is not listed must have its default.
TransformerConfig Marian::nearest(const TransformerConfig& m) const {
  TransformerConfig near{.layers = m.layers,
                         .encoder_layers = m.encoder_layers,
                         .width = m.width,
                         .heads = m.heads,
                         .kv_heads = m.heads,
                         .head_dim = divide_up(m.width, std::max(m.heads, int64_t{1})),
                         .ffn = m.derived_ffn(),
                         .embedding_width = m.width,
                         .max_length = m.max_length,
                         .norm_placement = NormPlacement::Post,
                         .final_norm = false,
                         .norm_epsilon = 1e-5,
                         .positions = Positions::Sinusoidal,
                         .sinusoid_form = kForm,
                         .sinusoid_base = kBase,
                         .activation = Activation::Relu,
                         .bias = m.bias,  // missing biases are written as zeros
                         .norm_bias = m.norm_bias,
                         .output_bias = m.output_bias,
                         .tying = m.tying,
                         .scale_embedding = m.scale_embedding,
                         .dropout = m.dropout,
                         .init = m.init,
                         .init_std = m.init_std};
  if (activation_name(m.activation)) near.activation = m.activation;
  return near;
}

nlohmann::ordered_json Marian::describe(const TransformerConfig& m) const {
  return {{"is_encoder_decoder", true},
          {"share_encoder_decoder_embeddings", m.tying == Tying::All},
          {"tie_word_embeddings", m.tying != Tying::None},
          {"d_model", m.width},
          {"encoder_layers", m.encoder_layers},
          {"decoder_layers", m.layers},
          {"encoder_attention_heads", m.heads},
          {"decoder_attention_heads", m.heads},
          {"encoder_ffn_dim", m.derived_ffn()},
          {"decoder_ffn_dim", m.derived_ffn()},
          {"max_position_embeddings", m.max_length},
          {"activation_function", activation_name(m.activation).value()},
          {"scale_embedding", m.scale_embedding},
          {"dropout", m.dropout.residual},
          {"attention_dropout", m.dropout.attention},
          {"activation_dropout", m.dropout.ffn},
          {"init_std", m.init_std}};
}

std::optional<Tie> Marian::tie(std::string_view tensor, Tying tying) const {
  if (tying != Tying::All) return Family::tie(tensor, tying);
  if (tensor == kHeadTensor) return Tie{kSourceTable, "tie_word_embeddings"};
  if (tensor == kTheirSource || tensor == kTheirTarget) return Tie{kSourceTable, "share_encoder_decoder_embeddings"};
  return std::nullopt;
}

// "encoder.3.ffn.up.weight" is layers.3.fc1.weight of the encoder; a fused product, (heads, parts, head_dim[, in]),
// becomes several tensors.
std::vector<StoredPlace> Marian::body_places(const std::string& parameter, const Shape& shape, Tying tying) const {
  if (parameter == kSourceTable) {
    return {StoredPlace::same(std::string(tying == Tying::All ? kShared : kTheirSource), shape)};
  }
  if (parameter == kTargetTable) return {StoredPlace::same(std::string(kTheirTarget), shape)};
  std::vector<StoredPlace> found;
  for (const std::string_view stack : {"encoder", "decoder"}) {
    const auto block = in_block(parameter, fmt::format("{}.", stack));
    if (!block) continue;
    const size_t dot = std::min(block->rest.rfind('.'), block->rest.size());
    const std::string_view within = block->rest.substr(0, dot), kind = block->rest.substr(dot);
    for (const MarianRule& rule : kMarianBlock) {
      if (within != rule.ours) continue;
      std::string theirs = fmt::format("{}.layers.{}.{}{}", stack, block->number, rule.theirs, kind);
      if (rule.parts == 0) {
        found.push_back(StoredPlace::same(std::move(theirs), shape));
        continue;
      }
      require<InternalError>(shape[1] == rule.parts, "{} has {} parts", rule.ours, shape[1]);
      const RowBlocks part{.groups = shape[0], .blocks = rule.parts, .first = rule.part, .height = shape[2]};
      found.push_back(StoredPlace::of(std::move(theirs), shape, {part}));
    }
  }
  return found;
}

}  // namespace

const Family& marian_family() {
  static const Marian family;
  return family;
}

}  // namespace weft
