// SPDX-License-Identifier: Apache-2.0
#include "exchange/gpt2_config.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/config/writer.h"
#include "base/divide_up.h"
#include "base/enum_table.h"
#include "base/error.h"
#include "base/json.h"

namespace weft {
namespace {

using JsonValue = nlohmann::json;

struct ActivationName {
  std::string_view theirs;
  Activation ours;
};
// The first name of each activation is the one that is written. All tanh forms are the same function.
constexpr std::array kActivations = {
    ActivationName{"gelu_new", Activation::GeluTanh},  ActivationName{"gelu_pytorch_tanh", Activation::GeluTanh},
    ActivationName{"gelu_fast", Activation::GeluTanh}, ActivationName{"gelu", Activation::Gelu},
    ActivationName{"relu", Activation::Relu},          ActivationName{"silu", Activation::Silu}};

// The fields of one file by name; an absent field has the default of GPT-2's configuration.
class Fields {
 public:
  explicit Fields(const fs::path& path) : where_(path.string()), json_(parse_json(read_file(path), where_, 16)) {
    require<DataError>(json_.is_object(), "{}: expected an object", where_);
  }

  // Null if the field is absent.
  const JsonValue& at(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() ? null_ : *found;
  }
  int64_t size(const char* name, int64_t absent) const {
    const JsonValue& value = at(name);
    if (value.is_null()) return absent;
    const bool fits = value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{1} << 32;
    require<DataError>(fits, "{}: {}: expected a size, got {}", where_, name, json_excerpt(value));
    return value.get<int64_t>();
  }
  double number(const char* name, double absent) const {
    const JsonValue& value = at(name);
    if (value.is_null()) return absent;
    require<DataError>(value.is_number(), "{}: {}: expected a number, got {}", where_, name, json_excerpt(value));
    return value.get<double>();
  }
  bool flag(const char* name, bool absent) const {
    const JsonValue& value = at(name);
    if (value.is_null()) return absent;
    require<DataError>(value.is_boolean(), "{}: {}: expected true or false, got {}", where_, name, json_excerpt(value));
    return value.get<bool>();
  }
  [[noreturn]] void refuse(const char* name, const std::string& what) const {
    throw DataError(fmt::format("{}: {}: {} cannot be represented: {}", where_, name, json_excerpt(at(name)), what));
  }
  void only(const char* name, bool absent, bool possible, const std::string& what) const {
    if (flag(name, absent) != possible) refuse(name, what);
  }

 private:
  std::string where_;
  JsonValue json_, null_;
};

void check_architecture(const Fields& fields) {
  if (fields.at("model_type") != "gpt2") fields.refuse("model_type", "weft imports gpt2");
  const JsonValue& architectures = fields.at("architectures");
  if (architectures.is_null()) return;
  const bool known = architectures.is_array() && architectures.size() == 1 &&
                     (architectures[0] == "GPT2LMHeadModel" || architectures[0] == "GPT2Model");
  if (!known) fields.refuse("architectures", "weft imports GPT2LMHeadModel and GPT2Model");
}

Activation activation_from(const Fields& fields) {
  const JsonValue& value = fields.at("activation_function");
  if (value.is_null()) return Activation::GeluTanh;
  for (const auto& [theirs, ours] : kActivations) {
    if (value == theirs) return ours;
  }
  fields.refuse("activation_function", "weft has gelu_new, gelu_pytorch_tanh, gelu_fast, gelu, relu and silu");
}

// nullopt: GPT-2 has no such activation.
std::optional<std::string_view> activation_name(Activation activation) {
  const auto at = std::ranges::find(kActivations, activation, &ActivationName::ours);
  return at == kActivations.end() ? std::nullopt : std::optional(at->theirs);
}

// Whether the output product has the embedding's weight. There is one stack, so there are no tables but these two.
constexpr EnumTable<Tying, bool> kTied = {{Tying::None, false}, {Tying::Output, true}, {Tying::All, true}};

// The GPT-2 that comes nearest to a model. TransformerConfig's defaults are a GPT-2; the keys listed here may differ,
// because config.json states them or because they change nothing that a trained model computes. A key that is not
// listed must have its default.
TransformerConfig nearest_gpt2(const TransformerConfig& m) {
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
                         .dropout = {.embedding = m.dropout.embedding,
                                     .residual = m.dropout.residual,
                                     .ffn = m.dropout.ffn,
                                     .attention = m.dropout.attention},
                         .init = m.init,
                         .init_std = m.init_std};
  if (activation_name(m.activation)) gpt2.activation = m.activation;
  return gpt2;
}

nlohmann::ordered_json role_id(const Tokenizer& tokenizer, SpecialRole role) {
  const auto id = tokenizer.special(role);
  return id ? nlohmann::ordered_json(*id) : nlohmann::ordered_json(nullptr);
}

}  // namespace

Gpt2Config read_gpt2_config(const fs::path& config_json) {
  const Fields fields(config_json);
  check_architecture(fields);
  fields.only("scale_attn_weights", true, true, "weft divides scores by the square root of a head's features");
  fields.only("scale_attn_by_inverse_layer_idx", false, false, "weft scales the scores of all layers alike");
  fields.only("reorder_and_upcast_attn", false, false, "weft has one order of operations in attention");
  fields.only("add_cross_attention", false, false, "weft's GPT has a decoder alone");
  if (!fields.at("quantization_config").is_null()) fields.refuse("quantization_config", "weights must be numbers");
  Gpt2Config config{.vocabulary = fields.size("vocab_size", 50257)};
  config.model = {.layers = fields.size("n_layer", 12),
                  .width = fields.size("n_embd", 768),
                  .heads = fields.size("n_head", 12),
                  .ffn = fields.size("n_inner", 0),
                  .max_length = fields.size("n_positions", 1024),
                  .norm_epsilon = fields.number("layer_norm_epsilon", 1e-5),
                  .activation = activation_from(fields),
                  .tying = fields.flag("tie_word_embeddings", true) ? Tying::Output : Tying::None,
                  .dropout = {.embedding = fields.number("embd_pdrop", 0.1),
                              .residual = fields.number("resid_pdrop", 0.1),
                              .attention = fields.number("attn_pdrop", 0.1)},
                  .init_std = fields.number("initializer_range", 0.02)};
  return config;
}

void check_is_gpt2(const TransformerConfig& model, const std::string& where) {
  for (const ConfigChange& other : config_changes(nearest_gpt2(model), model.with_derived_sizes())) {
    throw DataError(fmt::format("{}: model.{}: GPT-2 cannot represent this model: it has {}, not {}", where, other.key,
                                other.before, other.after),
                    "docs/huggingface.md lists what it can");
  }
}

std::string gpt2_config_json(const Gpt2Config& config, StoredType dtype, const Tokenizer& tokenizer) {
  const TransformerConfig& m = config.model;
  nlohmann::ordered_json json = {{"architectures", {"GPT2LMHeadModel"}},
                                 {"model_type", "gpt2"},
                                 {"activation_function", activation_name(m.activation).value()},
                                 {"vocab_size", config.vocabulary},
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
                                 {"tie_word_embeddings", kTied[m.tying]},
                                 {"bos_token_id", role_id(tokenizer, SpecialRole::Bos)},
                                 {"eos_token_id", role_id(tokenizer, SpecialRole::Eos)},
                                 {"pad_token_id", role_id(tokenizer, SpecialRole::Pad)},
                                 {"use_cache", true},
                                 {"torch_dtype", dtype == StoredType::BF16 ? "bfloat16" : "float32"}};
  if (m.derived_ffn() != 4 * m.width) json["n_inner"] = m.derived_ffn();
  return json.dump(2) + "\n";
}

std::string generation_config_json(const Tokenizer& tokenizer) {
  const nlohmann::ordered_json json = {{"bos_token_id", role_id(tokenizer, SpecialRole::Bos)},
                                       {"eos_token_id", role_id(tokenizer, SpecialRole::Eos)},
                                       {"pad_token_id", role_id(tokenizer, SpecialRole::Pad)}};
  return json.dump(2) + "\n";
}

}  // namespace weft
