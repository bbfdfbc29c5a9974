// SPDX-License-Identifier: Apache-2.0
// Exports a translation model as MarianMTModel of `transformers`: post-norm blocks, sinusoidal positions with all sines
// before all cosines, one table for source, target and output. Other translation models keep weft's own layout.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/config/writer.h"
#include "base/divide_up.h"
#include "base/enum_table.h"
#include "base/error.h"
#include "data/prepare/specials.h"
#include "data/tokenizer/file_names.h"
#include "data/tokenizer/formats/hugging_face.h"
#include "exchange/export_plan.h"
#include "exchange/parameters.h"

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

// The tensors that "encoder.3.ffn.up.weight" becomes; a fused product, (heads, parts, head_dim[, in]), becomes several.
std::vector<StoredPlace> marian_block(const std::string& name, const Shape& shape) {
  const size_t stack = name.find('.'), number = name.find('.', stack + 1), kind = name.rfind('.');
  const std::string_view within = std::string_view(name).substr(number + 1, kind - number - 1);
  std::vector<StoredPlace> found;
  for (const MarianRule& rule : kMarianBlock) {
    if (within != rule.ours) continue;
    std::string theirs = fmt::format("model.{}.layers.{}.{}{}", name.substr(0, stack),
                                     name.substr(stack + 1, number - stack - 1), rule.theirs, name.substr(kind));
    if (rule.parts == 0) {
      found.push_back(StoredPlace::same(std::move(theirs), shape));
      continue;
    }
    require<InternalError>(shape[1] == rule.parts, "{} has {} parts", rule.ours, shape[1]);
    const RowBlocks part{.groups = shape[0], .blocks = rule.parts, .first = rule.part, .height = shape[2]};
    found.push_back(StoredPlace::of(std::move(theirs), shape, {part}));
  }
  return found;
}

std::vector<StoredPlace> marian_places(const std::string& name, const Shape& shape) {
  if (name == "encoder.embedding.tokens") return {StoredPlace::same("model.shared.weight", shape)};
  if (name == "output.bias") return {StoredPlace::same("final_logits_bias", {1, shape[0]})};
  return marian_block(name, shape);
}

std::string config_json(const ModelToExport& model, const SideSpecials& target, int32_t pad) {
  const TransformerConfig& m = model.job.model;
  constexpr EnumTable<Activation, std::string_view> kActivations = {{Activation::None, "linear"},
                                                                    {Activation::Relu, "relu"},
                                                                    {Activation::Gelu, "gelu"},
                                                                    {Activation::GeluTanh, "gelu_new"},
                                                                    {Activation::Silu, "silu"}};
  const int64_t vocabulary = model.target_tokenizer->vocabulary();
  const nlohmann::ordered_json json = {{"architectures", {"MarianMTModel"}},
                                       {"model_type", "marian"},
                                       {"is_encoder_decoder", true},
                                       {"vocab_size", vocabulary},
                                       {"decoder_vocab_size", vocabulary},
                                       {"share_encoder_decoder_embeddings", true},
                                       {"tie_word_embeddings", true},
                                       {"d_model", m.width},
                                       {"encoder_layers", m.encoder_layers},
                                       {"decoder_layers", m.layers},
                                       {"encoder_attention_heads", m.heads},
                                       {"decoder_attention_heads", m.heads},
                                       {"encoder_ffn_dim", m.derived_ffn()},
                                       {"decoder_ffn_dim", m.derived_ffn()},
                                       {"max_position_embeddings", m.max_length},
                                       {"activation_function", kActivations[m.activation]},
                                       {"scale_embedding", m.scale_embedding},
                                       {"dropout", m.dropout.residual},
                                       {"attention_dropout", m.dropout.attention},
                                       {"activation_dropout", m.dropout.ffn},
                                       {"decoder_start_token_id", *target.bos},
                                       {"bos_token_id", *target.bos},
                                       {"eos_token_id", *target.eos},
                                       {"forced_eos_token_id", nullptr},
                                       {"pad_token_id", pad},
                                       {"torch_dtype", model.dtype == StoredType::BF16 ? "bfloat16" : "float32"}};
  return json.dump(2) + "\n";
}

// MarianMT's search must generate no special token except the end token, as in weft.
std::string generation_json(const ModelToExport& model, const SideSpecials& target, int32_t pad) {
  nlohmann::ordered_json never = nlohmann::ordered_json::array();
  for (const int32_t id : never_generated(*model.target_tokenizer))
    never.push_back(nlohmann::ordered_json::array({id}));
  nlohmann::ordered_json json = {{"decoder_start_token_id", *target.bos},
                                 {"bos_token_id", *target.bos},
                                 {"eos_token_id", *target.eos},
                                 {"pad_token_id", pad},
                                 {"max_length", model.job.model.max_length}};
  if (!never.empty()) json["bad_words_ids"] = never;
  return json.dump(2) + "\n";
}

// The MarianMT that comes nearest to a model: the keys that MarianMT can vary are the model's own. A key that is not
// listed must have its default.
TransformerConfig nearest_marian(const TransformerConfig& m) {
  return {.layers = m.layers,
          .encoder_layers = m.encoder_layers,
          .width = m.width,
          .heads = m.heads,
          .kv_heads = m.heads,
          .head_dim = divide_up(m.width, m.heads),
          .ffn = m.derived_ffn(),
          .embedding_width = m.width,
          .max_length = m.max_length,
          .norm_placement = NormPlacement::Post,
          .final_norm = false,
          .norm_epsilon = 1e-5,
          .positions = Positions::Sinusoidal,
          .sinusoid_form = SinusoidForm::Halves,
          .sinusoid_base = 10000,
          .activation = m.activation,
          .bias = m.bias,  // missing biases are written as zeros
          .norm_bias = m.norm_bias,
          .output_bias = m.output_bias,
          .tying = Tying::All,
          .scale_embedding = m.scale_embedding,
          .dropout = {.embedding = m.dropout.embedding,
                      .residual = m.dropout.residual,
                      .ffn = m.dropout.ffn,
                      .attention = m.dropout.attention},
          .init = m.init,
          .init_std = m.init_std};
}

}  // namespace

std::vector<int32_t> never_generated(const Tokenizer& tokenizer) {
  std::set<int32_t> never;
  for (const SpecialRole role : {SpecialRole::Bos, SpecialRole::Pad, SpecialRole::Unk}) {
    const auto id = tokenizer.special(role);
    if (id && id != tokenizer.special(SpecialRole::Eos)) never.insert(*id);
  }
  return {never.begin(), never.end()};
}

std::optional<std::string> why_not_marian(const ModelToExport& model) {
  const TransformerConfig& here = model.job.model;
  for (const ConfigChange& other : config_changes(nearest_marian(here), here.with_derived_sizes())) {
    return fmt::format("model.{}: it has {}, not {}", other.key, other.before, other.after);
  }
  if (model.source_tokenizer->hash() != model.target_tokenizer->hash()) {
    return "target_tokenizer: both languages share one tokenizer";
  }
  return std::nullopt;
}

ExportPlan plan_marian(const ModelToExport& model) {
  const Tokenizer& tokenizer = *model.target_tokenizer;
  const SideSpecials source = source_specials(model.job.data, tokenizer), target = target_specials(tokenizer);
  const int32_t pad = tokenizer.special(SpecialRole::Pad).value_or(*target.eos);
  const int64_t longest = model.job.model.max_length, ids = tokenizer.vocabulary();
  ExportPlan plan{
      .architecture = "MarianMTModel",
      .files = hugging_face_tokenizer_files(tokenizer, longest, {.before = source.bos, .after = source.eos})};
  plan.files["config.json"] = config_json(model, target, pad);
  plan.files["generation_config.json"] = generation_json(model, target, pad);
  ModelSpec spec{.config = model.job.model, .vocabularies = {.source = ids, .target = ids}};
  spec.config.bias = spec.config.norm_bias = spec.config.output_bias = true;  // zeros where the model has none
  for (const auto& [name, shape] : parameters_of(spec)) add_parameter(plan, name, shape, marian_places(name, shape));
  return plan;
}

ExportPlan plan_own_layout(const ModelToExport& model) {
  nlohmann::ordered_json config = {{"model_type", "weft"}, {"task", enum_name(model.job.task)}};
  config["source_vocabulary"] = model.source_tokenizer->vocabulary();
  config["target_vocabulary"] = model.target_tokenizer->vocabulary();
  config["source_bos"] = model.job.data.source_bos, config["source_eos"] = model.job.data.source_eos;
  config["model"] = to_json(model.job.model);
  ExportPlan plan{.architecture = "weft",
                  .files = {{"config.json", config.dump(2) + "\n"},
                            {kSourceTokenizerFile, model.source_tokenizer->to_json()},
                            {kTargetTokenizerFile, model.target_tokenizer->to_json()}}};
  const Vocabularies vocabularies{.source = model.source_tokenizer->vocabulary(),
                                  .target = model.target_tokenizer->vocabulary()};
  for (const auto& [name, shape] : parameters_of({.config = model.job.model, .vocabularies = vocabularies})) {
    plan.tensors.push_back({.place = StoredPlace::same(name, shape), .ours = name, .shape = shape});
  }
  return plan;
}

}  // namespace weft
