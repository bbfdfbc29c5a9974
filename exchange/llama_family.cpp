// SPDX-License-Identifier: Apache-2.0
// Llama and the families of `transformers` that are built like it: Mistral, Qwen 2 and 3, OLMo 2. They differ in their
// norms, biases and windows, and in the names of two norms.
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "exchange/family.h"
#include "exchange/llama_facts.h"

namespace weft {
namespace {

constexpr int64_t kMostLayers = 1000;

// The part of a parameter: all of it; of (kv_heads, queries + 2, head_dim, width) the queries, the keys, the values; of
// (2, features, width) the gates and what they gate.
enum class LlamaPart : uint8_t { Whole, Queries, Keys, Values, Gates, Gated };

struct LlamaRule {
  std::string_view ours, theirs;  // ours with or without ".weight" and ".bias"
  LlamaPart part = LlamaPart::Whole;
};

constexpr std::array kLlamaOutside = {LlamaRule{"decoder.embedding.tokens", "embed_tokens.weight"},
                                      LlamaRule{"decoder.final_norm.weight", "norm.weight"}};
// Names within block N: behind decoder.N. in weft, behind layers.N. there.
constexpr std::array kLlamaProducts = {LlamaRule{"attention.qkv", "self_attn.q_proj", LlamaPart::Queries},
                                       LlamaRule{"attention.qkv", "self_attn.k_proj", LlamaPart::Keys},
                                       LlamaRule{"attention.qkv", "self_attn.v_proj", LlamaPart::Values},
                                       LlamaRule{"attention.output", "self_attn.o_proj"},
                                       LlamaRule{"attention.query_norm", "self_attn.q_norm"},
                                       LlamaRule{"attention.key_norm", "self_attn.k_norm"},
                                       LlamaRule{"ffn.up", "mlp.gate_proj", LlamaPart::Gates},
                                       LlamaRule{"ffn.up", "mlp.up_proj", LlamaPart::Gated},
                                       LlamaRule{"ffn.down", "mlp.down_proj"}};
constexpr std::array kNormsBefore = {LlamaRule{"attention_norm", "input_layernorm"},
                                     LlamaRule{"ffn_norm", "post_attention_layernorm"}};
constexpr std::array kNormsOfBranches = {LlamaRule{"attention_norm", "post_attention_layernorm"},
                                         LlamaRule{"ffn_norm", "post_feedforward_layernorm"}};

StoredPlace place_of(std::string name, const Shape& shape, LlamaPart part) {
  const auto blocks = [&](int64_t first, int64_t count) {
    return StoredPlace::of(
        std::move(name), shape,
        {{.groups = shape[0], .blocks = shape[1], .first = first, .count = count, .height = shape[2]}});
  };
  const auto half = [&](int64_t which) {
    return StoredPlace::of(std::move(name), shape, {{.blocks = 2, .first = which, .height = shape[1]}});
  };
  switch (part) {
    case LlamaPart::Whole:
      break;
    case LlamaPart::Queries:
      return blocks(0, shape[1] - 2);
    case LlamaPart::Keys:
      return blocks(shape[1] - 2, 1);
    case LlamaPart::Values:
      return blocks(shape[1] - 1, 1);
    case LlamaPart::Gates:
      return half(0);
    case LlamaPart::Gated:
      return half(1);
  }
  // Gains of all heads of a token are (kv_heads, heads of a group, head_dim) here and one row there.
  const bool gains = name.ends_with("_norm.weight");
  return StoredPlace::same(std::move(name), gains ? Shape{shape.elements()} : shape);
}

RotaryConfig read_rotary(const ConfigFile& file) {
  // Files of transformers 5 have one object, earlier ones a number and, for scaled angles, an object.
  const char* name = file.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const ConfigFile scaling = file.section(name);
  RotaryConfig rotary{.base = scaling.number("rope_theta", file.number("rope_theta", 10000))};
  const char* type_name = scaling.has("rope_type") ? "rope_type" : "type";
  const std::string type = scaling.text(type_name, "default");
  if (type == "default") return rotary;
  if (type != "linear" && type != "llama3") scaling.refuse(type_name, "weft has default, linear and llama3");
  rotary.scaling = type == "linear" ? RotaryScaling::Linear : RotaryScaling::Llama3;
  rotary.factor = scaling.number("factor", 1);
  if (rotary.scaling == RotaryScaling::Linear) return rotary;
  rotary.low_frequency_factor = scaling.number("low_freq_factor", 1);
  rotary.high_frequency_factor = scaling.number("high_freq_factor", 4);
  rotary.original_length = scaling.size("original_max_position_embeddings", 8192);
  return rotary;
}

nlohmann::ordered_json describe_scaling(const RotaryConfig& rotary) {
  switch (rotary.scaling) {
    case RotaryScaling::None:
      return nullptr;
    case RotaryScaling::Linear:
      return {{"rope_type", "linear"}, {"factor", rotary.factor}};
    case RotaryScaling::Llama3:
      return {{"rope_type", "llama3"},
              {"factor", rotary.factor},
              {"low_freq_factor", rotary.low_frequency_factor},
              {"high_freq_factor", rotary.high_frequency_factor},
              {"original_max_position_embeddings", rotary.original_length}};
  }
  throw InternalError("no such scaling");
}

// A size that null leaves to be derived, or says is not there: 0. An absent field has the family's default.
int64_t size_or_none(const ConfigFile& file, const char* name, int64_t absent) {
  return file.size(name, file.states(name) ? 0 : absent);
}

constexpr std::string_view kSliding = "sliding_attention", kFull = "full_attention";

class LlamaLike : public Family {
 public:
  explicit LlamaLike(LlamaKind kind) : facts_(kFacts[kind]) {}

  std::string_view name() const override { return facts_.name; }
  std::string_view type() const override { return facts_.type; }
  std::string_view architecture() const override { return facts_.architecture; }
  std::string_view bare_architecture() const override { return facts_.bare_architecture; }
  std::string_view prefix() const override { return "model."; }

  DescribedModel read(const ConfigFile& file) const override;
  TransformerConfig nearest(const TransformerConfig& model) const override;
  nlohmann::ordered_json describe(const TransformerConfig& model) const override;
  // Wavelengths, which early versions stored with the weights.
  bool ignores(std::string_view tensor) const override { return tensor.ends_with("rotary_emb.inv_freq"); }

 private:
  std::vector<StoredPlace> body_places(const std::string& parameter, const Shape& shape, Tying) const override;
  // The values of the keys that make up the family, in any model.
  TransformerConfig family_values() const;
  bool read_bias(const ConfigFile& file) const;
  std::vector<int64_t> read_windows(const ConfigFile& file, int64_t layers) const;
  std::vector<int64_t> listed_windows(const ConfigFile& file, int64_t layers, int64_t window) const;
  std::vector<int64_t> nearest_windows(const TransformerConfig& model) const;
  void describe_windows(const TransformerConfig& model, nlohmann::ordered_json& json) const;

  const LlamaFacts& facts_;
};

TransformerConfig LlamaLike::family_values() const {
  return {.norm_kind = NormKind::Rms,
          .norm_placement = facts_.norm_placement,
          .positions = Positions::Rotary,
          .qk_norm = facts_.qk_norm,
          .activation = Activation::Silu,
          .gated = true,
          .bias = false,
          .qkv_bias = facts_.biases == Biases::Qkv,
          .norm_bias = false};
}

bool LlamaLike::read_bias(const ConfigFile& file) const {
  const bool attention = file.flag("attention_bias", false), ffn = file.flag("mlp_bias", false);
  if (facts_.biases != Biases::Stated) {
    if (attention) file.refuse("attention_bias", fmt::format("weft's {} has other biases or none", facts_.name));
    return false;
  }
  if (attention != ffn) file.refuse("attention_bias", "mlp_bias has another value; weft has biases in both or neither");
  return attention;
}

std::vector<int64_t> LlamaLike::read_windows(const ConfigFile& file, int64_t layers) const {
  if (facts_.windows == Windows::None) return {};
  const int64_t window = size_or_none(file, "sliding_window", facts_.window);
  if (window == 0) return {};
  if (facts_.windows == Windows::All) return {window};
  if (!file.flag("use_sliding_window", false)) return {};
  return listed_windows(file, layers, window);
}

std::vector<int64_t> LlamaLike::listed_windows(const ConfigFile& file, int64_t layers, int64_t window) const {
  if (layers > kMostLayers) return {};  // the job's check refuses the number
  std::vector<int64_t> windows;
  const nlohmann::json& types = file.at("layer_types");
  const int64_t first = file.size("max_window_layers", 28);
  if (!types.is_null() && (!types.is_array() || std::ssize(types) != layers)) {
    file.refuse("layer_types", fmt::format("expected a list with the kinds of {} layers", layers));
  }
  for (int64_t layer = 0; layer < layers; ++layer) {
    const bool sliding = types.is_null() ? layer >= first : types[layer] == kSliding;
    if (!sliding && !types.is_null() && types[layer] != kFull) {
      file.refuse("layer_types", fmt::format("layer {} is neither {} nor {}", layer, kSliding, kFull));
    }
    windows.push_back(sliding ? window : 0);
  }
  return windows;
}

DescribedModel LlamaLike::read(const ConfigFile& file) const {
  if (file.number("partial_rotary_factor", 1) != 1) file.refuse("partial_rotary_factor", "weft turns whole heads");
  TransformerConfig model = family_values();
  model.layers = file.size("num_hidden_layers", 32);
  model.width = file.size("hidden_size", 4096);
  model.heads = file.size("num_attention_heads", 32);
  model.kv_heads = size_or_none(file, "num_key_value_heads", facts_.kv_heads);
  model.head_dim = size_or_none(file, "head_dim", facts_.head_dim);
  model.ffn = file.size("intermediate_size", facts_.ffn);
  model.max_length = file.size("max_position_embeddings", facts_.max_length);
  model.norm_epsilon = file.number("rms_norm_eps", facts_.norm_epsilon);
  model.rotary = read_rotary(file);
  model.attention_windows = read_windows(file, model.layers);
  model.activation = file.activation("hidden_act", Activation::Silu);
  model.bias = read_bias(file);
  model.tying = file.flag("tie_word_embeddings", false) ? Tying::Output : Tying::None;
  model.dropout.attention = file.number("attention_dropout", 0);
  model.init_std = file.number("initializer_range", 0.02);
  return {.config = model, .vocabularies = {.target = file.size("vocab_size", facts_.vocabulary)}, .ids = {}};
}

// A family with one width of window has it in all layers; one with a list has one width, in some layers.
std::vector<int64_t> LlamaLike::nearest_windows(const TransformerConfig& model) const {
  int64_t widest = 0;
  for (const int64_t window : model.attention_windows) widest = std::max(widest, window);
  if (widest == 0 || facts_.windows == Windows::None) return {};
  if (facts_.windows == Windows::All) return std::vector<int64_t>(model.attention_windows.size(), widest);
  std::vector<int64_t> windows = model.attention_windows;
  for (int64_t& window : windows) window = window > 0 ? widest : 0;
  return windows;
}

TransformerConfig LlamaLike::nearest(const TransformerConfig& m) const {
  TransformerConfig near = family_values();
  near.layers = m.layers, near.width = m.width, near.heads = m.heads;
  near.kv_heads = m.derived_kv_heads(), near.head_dim = m.derived_head_dim();
  near.ffn = m.derived_ffn(), near.embedding_width = m.width, near.max_length = m.max_length;
  near.norm_epsilon = m.norm_epsilon;
  near.sinusoid_form = m.sinusoid_form, near.sinusoid_base = m.sinusoid_base;  // have no effect
  near.rotary = {.base = m.rotary.base,
                 .scaling = m.rotary.scaling,
                 .factor = m.rotary.factor,
                 .low_frequency_factor = m.rotary.low_frequency_factor,
                 .high_frequency_factor = m.rotary.high_frequency_factor,
                 .original_length = m.rotary.original_length};
  near.attention_windows = nearest_windows(m);
  if (activation_name(m.activation)) near.activation = m.activation;
  if (facts_.biases == Biases::Stated) near.bias = m.bias, near.qkv_bias = m.bias && m.qkv_bias;
  near.tying = m.tying;
  near.dropout = m.dropout;
  near.init = m.init, near.init_std = m.init_std;
  return near;
}

void LlamaLike::describe_windows(const TransformerConfig& model, nlohmann::ordered_json& json) const {
  if (facts_.windows == Windows::None) return;
  int64_t window = 0;
  nlohmann::ordered_json types = nlohmann::ordered_json::array();
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const int64_t here = model.attention_window(static_cast<int>(layer));
    window = std::max(window, here);
    types.push_back(here > 0 ? kSliding : kFull);
  }
  json["sliding_window"] = window > 0 ? nlohmann::ordered_json(window) : nlohmann::ordered_json(nullptr);
  if (facts_.windows != Windows::Listed) return;
  json["use_sliding_window"] = window > 0;
  json["layer_types"] = types;
}

nlohmann::ordered_json LlamaLike::describe(const TransformerConfig& m) const {
  nlohmann::ordered_json json = {{"num_hidden_layers", m.layers},
                                 {"hidden_size", m.width},
                                 {"num_attention_heads", m.heads},
                                 {"num_key_value_heads", m.derived_kv_heads()},
                                 {"head_dim", m.derived_head_dim()},
                                 {"intermediate_size", m.derived_ffn()},
                                 {"max_position_embeddings", m.max_length},
                                 {"rms_norm_eps", m.norm_epsilon},
                                 {"rope_theta", m.rotary.base},
                                 {"rope_scaling", describe_scaling(m.rotary)},
                                 {"hidden_act", activation_name(m.activation).value()},
                                 {"attention_dropout", m.dropout.attention},
                                 {"initializer_range", m.init_std},
                                 {"tie_word_embeddings", m.tying != Tying::None}};
  if (facts_.biases == Biases::Stated) json["attention_bias"] = json["mlp_bias"] = m.bias;
  describe_windows(m, json);
  return json;
}

std::vector<StoredPlace> LlamaLike::body_places(const std::string& parameter, const Shape& shape, Tying) const {
  for (const auto& [ours, theirs, part] : kLlamaOutside) {
    if (parameter == ours) return {place_of(std::string(theirs), shape, part)};
  }
  std::vector<StoredPlace> found;
  const auto block = in_block(parameter, "decoder.");
  if (!block) return found;
  const size_t dot = std::min(block->rest.rfind('.'), block->rest.size());
  const std::string_view name = block->rest.substr(0, dot), kind = block->rest.substr(dot);
  const auto add = [&](std::span<const LlamaRule> rules) {
    for (const auto& [ours, theirs, part] : rules) {
      if (name != ours) continue;
      found.push_back(place_of(fmt::format("layers.{}.{}{}", block->number, theirs, kind), shape, part));
    }
  };
  add(kLlamaProducts);
  add(facts_.norm_placement == NormPlacement::Branch ? kNormsOfBranches : kNormsBefore);
  return found;
}

}  // namespace

std::span<const Family* const> llama_families() {
  static const LlamaLike llama(LlamaKind::Llama), mistral(LlamaKind::Mistral), qwen2(LlamaKind::Qwen2),
      qwen3(LlamaKind::Qwen3), olmo2(LlamaKind::Olmo2);
  static const std::array<const Family*, 5> all = {&llama, &mistral, &qwen2, &qwen3, &olmo2};
  return all;
}

}  // namespace weft
