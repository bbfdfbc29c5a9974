// SPDX-License-Identifier: Apache-2.0
// Which variables of CTranslate2 a model has. Their names, types and order of rows are those that its Python package
// declares (ctranslate2/specs) and its converters fill.
#include "exchange/ct2/plan.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/config/writer.h"
#include "base/enum_table.h"
#include "base/error.h"
#include "exchange/family.h"
#include "exchange/parameters.h"
#include "kernels/ops/embed.h"

namespace weft {
namespace {

// The part of a parameter: all of it; of (kv_heads, parts, head_dim, width) all heads of the first parts, then those of
// each of the last two (queries, keys, values), or all in one (queries); of (2, features, width) one half.
enum class Ct2Part : uint8_t { Whole, WithKeysAndValues, Queries, Gates, Gated };

struct Ct2Rule {
  std::string_view ours, theirs;  // without ".weight" and ".bias", or what they are in a norm
  Ct2Part part = Ct2Part::Whole;
};
// Names within block N: behind STACK.N. in weft, behind STACK/layer_N/ there.
constexpr std::array kCt2Block = {Ct2Rule{"attention.qkv", "self_attention/linear_0", Ct2Part::WithKeysAndValues},
                                  Ct2Rule{"attention.query_norm", "self_attention/q_norm"},
                                  Ct2Rule{"attention.key_norm", "self_attention/k_norm"},
                                  Ct2Rule{"attention.output", "self_attention/linear_1"},
                                  Ct2Rule{"attention_norm", "self_attention/layer_norm"},
                                  Ct2Rule{"cross.q", "attention/linear_0", Ct2Part::Queries},
                                  Ct2Rule{"cross.kv", "attention/linear_1", Ct2Part::WithKeysAndValues},
                                  Ct2Rule{"cross.output", "attention/linear_2"},
                                  Ct2Rule{"cross_norm", "attention/layer_norm"},
                                  Ct2Rule{"ffn.down", "ffn/linear_1"},
                                  Ct2Rule{"ffn_norm", "ffn/layer_norm"}};
constexpr std::array kCt2Up = {Ct2Rule{"ffn.up", "ffn/linear_0"}};
constexpr std::array kCt2GatedUp = {Ct2Rule{"ffn.up", "ffn/linear_0", Ct2Part::Gates},
                                    Ct2Rule{"ffn.up", "ffn/linear_0_noact", Ct2Part::Gated}};

constexpr std::string_view kTargetTable = "decoder/embeddings/weight", kSourceTable = "encoder/embeddings_0/weight",
                           kProjection = "decoder/projection/weight";

// A parameter's name without its last part, and that part.
std::pair<std::string_view, std::string_view> cut_kind(std::string_view name) {
  const size_t dot = name.rfind('.');
  return {name.substr(0, dot), name.substr(dot + 1)};
}

std::vector<RowBlocks> ct2_rows(const Shape& shape, Ct2Part part) {
  const auto heads = [&](int64_t first, int64_t count) {
    return RowBlocks{.groups = shape[0], .blocks = shape[1], .first = first, .count = count, .height = shape[2]};
  };
  switch (part) {
    case Ct2Part::Whole:
      return {};
    case Ct2Part::WithKeysAndValues: {
      const int64_t queries = shape[1] - 2;
      std::vector<RowBlocks> rows = {heads(queries, 1), heads(queries + 1, 1)};
      if (queries > 0) rows.insert(rows.begin(), heads(0, queries));
      return rows;
    }
    case Ct2Part::Queries:
      return {heads(0, shape[1])};
    case Ct2Part::Gates:
      return {{.blocks = 2, .first = 0, .height = shape[1]}};
    case Ct2Part::Gated:
      return {{.blocks = 2, .first = 1, .height = shape[1]}};
  }
  throw InternalError("no such part");
}

StoredPlace ct2_place(const std::string& ours, std::string theirs, const Shape& shape, Ct2Part part) {
  if (part == Ct2Part::Whole) return StoredPlace::same(std::move(theirs), shape);
  StoredPlace place = StoredPlace::of(ours, shape, ct2_rows(shape, part));  // which tells a bias by its name in weft
  place.name = std::move(theirs);
  return place;
}

std::string_view ct2_kind(std::string_view theirs, std::string_view kind) {
  if (!theirs.ends_with("norm")) return kind;
  return kind == "weight" ? "gamma" : "beta";
}

std::vector<StoredPlace> ct2_block(std::string_view stack, const InBlock& block, const std::string& name,
                                   const Shape& shape, bool gated) {
  const auto [ours, kind] = cut_kind(block.rest);
  std::vector<StoredPlace> found;
  const auto add = [&](std::span<const Ct2Rule> rules) {
    for (const Ct2Rule& rule : rules) {
      if (ours != rule.ours) continue;
      std::string theirs =
          fmt::format("{}/layer_{}/{}/{}", stack, block.number, rule.theirs, ct2_kind(rule.theirs, kind));
      found.push_back(ct2_place(name, std::move(theirs), shape, rule.part));
    }
  };
  add(kCt2Block);
  gated ? add(kCt2GatedUp) : add(kCt2Up);
  return found;
}

std::vector<StoredPlace> ct2_places(const TransformerConfig& model, const std::string& name, const Shape& shape) {
  if (name == "output.weight") return {StoredPlace::same(std::string(kProjection), shape)};
  if (name == "output.bias") return {StoredPlace::same("decoder/projection/bias", shape)};
  for (const std::string_view stack : {"encoder", "decoder"}) {
    if (const auto block = in_block(name, fmt::format("{}.", stack))) {
      return ct2_block(stack, *block, name, shape, model.gated);
    }
    const auto [outside, kind] = cut_kind(name);
    if (outside == fmt::format("{}.final_norm", stack)) {
      return {StoredPlace::same(fmt::format("{}/layer_norm/{}", stack, ct2_kind("norm", kind)), shape)};
    }
    if (outside != fmt::format("{}.embedding", stack)) continue;
    if (kind == "positions") return {StoredPlace::same(fmt::format("{}/position_encodings/encodings", stack), shape)};
    const bool is_source = stack == "encoder" && model.tying != Tying::All;
    return {StoredPlace::same(std::string(is_source ? kSourceTable : kTargetTable), shape)};
  }
  return {};
}

// The stacks of a model by name, and their blocks.
std::vector<std::pair<std::string_view, int64_t>> stacks_of(const TransformerConfig& m) {
  std::vector<std::pair<std::string_view, int64_t>> stacks = {{"decoder", m.layers}};
  if (m.encoder_layers > 0) stacks.insert(stacks.begin(), {"encoder", m.encoder_layers});
  return stacks;
}

// CTranslate2's numbers of activations. None has no number, and is refused.
constexpr EnumTable<Activation, int8_t> kCt2Activation = {{Activation::None, -1},
                                                          {Activation::Relu, 0},
                                                          {Activation::GeluTanh, 1},
                                                          {Activation::Silu, 2},
                                                          {Activation::Gelu, 3}};

class Attributes {
 public:
  Attributes(std::vector<Ct2Attribute>& all, std::string scope) : all_(all), scope_(std::move(scope)) {}
  template <class T>
  void add(const char* name, T value) {
    all_.push_back({scope_ + "/" + name, value});
  }
  void flag(const char* name, bool value) { add(name, static_cast<int8_t>(value)); }
  void real(const char* name, double value) { add(name, static_cast<float>(value)); }
  void count(const char* name, int64_t value) { add(name, static_cast<int32_t>(value)); }

 private:
  std::vector<Ct2Attribute>& all_;
  std::string scope_;
};

void add_rotary(const RotaryConfig& rotary, Attributes& attention) {
  constexpr int8_t kLinear = 0, kLlama3 = 2;
  attention.count("rotary_dim", 0);  // all features of a head
  attention.flag("rotary_interleave", rotary.form == RotaryForm::Interleaved);
  attention.real("rotary_base", rotary.base);
  if (rotary.scaling == RotaryScaling::None) return;
  attention.add("rotary_scaling_type", rotary.scaling == RotaryScaling::Linear ? kLinear : kLlama3);
  attention.real("rotary_scaling_factor", rotary.factor);
  if (rotary.scaling == RotaryScaling::Linear) return;
  attention.real("rotary_low_freq_factor", rotary.low_frequency_factor);
  attention.real("rotary_high_freq_factor", rotary.high_frequency_factor);
  attention.count("original_max_position_embeddings", rotary.original_length);
}

void add_attention(const TransformerConfig& m, Attributes attention, bool rotates) {
  if (m.derived_kv_heads() < m.heads) attention.count("num_heads_kv", m.derived_kv_heads());
  if (m.heads * m.derived_head_dim() != m.width) attention.count("head_dim", m.derived_head_dim());
  if (m.attention_score == AttentionScore::Plain) attention.real("queries_scale", 1);
  if (rotates && m.positions == Positions::Rotary) add_rotary(m.rotary, attention);
}

void add_stack(const TransformerConfig& m, std::string_view stack, int64_t layers, std::vector<Ct2Attribute>& all) {
  Attributes outside(all, std::string(stack));
  const bool decodes = stack == "decoder";
  outside.add("num_heads", static_cast<int16_t>(m.heads));
  outside.flag("pre_norm", m.norm_placement == NormPlacement::Pre);
  outside.add("activation", kCt2Activation[m.activation]);
  outside.flag("scale_embeddings", m.scale_embedding);
  if (decodes) {
    outside.add("alignment_layer", int16_t{-1});
    outside.add("alignment_heads", int16_t{1});
    for (const char* name : {"alibi", "alibi_use_positive_positions", "scale_alibi", "start_from_zero_embedding"}) {
      outside.flag(name, false);
    }
  } else {
    outside.flag("multi_query_attention", false);
    outside.add("embeddings_merge", int8_t{0});
  }
  for (int64_t layer = 0; layer < layers; ++layer) {
    const std::string scope = fmt::format("{}/layer_{}", stack, layer);
    add_attention(m, {all, scope + "/self_attention"}, true);
    if (decodes && m.encoder_layers > 0) add_attention(m, {all, scope + "/attention"}, false);
  }
}

// Without a table of positions CTranslate2 adds sinusoids of its own, so a model that adds none gets a table of zeros.
void add_positions(const TransformerConfig& m, Ct2Plan& plan) {
  if (m.positions == Positions::Learned || m.positions == Positions::Rotary) return;
  const std::string name = "decoder/position_encodings/encodings";
  plan.tables.push_back({.name = name, .shape = {m.max_length, m.width}, .values = [m] {
                           if (m.positions == Positions::None) {
                             return std::vector<float>(static_cast<size_t>(m.max_length * m.width));
                           }
                           return sinusoids(m.max_length, m.width, m.sinusoid_form, m.sinusoid_base);
                         }});
  if (m.encoder_layers > 0) plan.aliases.push_back({"encoder/position_encodings/encodings", name});
}

void add_tied_tables(const TransformerConfig& m, Ct2Plan& plan) {
  if (m.tying == Tying::None) return;
  plan.aliases.push_back({std::string(kProjection), std::string(kTargetTable)});
  if (m.tying == Tying::All && m.encoder_layers > 0) {
    plan.aliases.push_back({std::string(kSourceTable), std::string(kTargetTable)});
  }
}

// Windows that no sequence of the model is longer than are none.
TransformerConfig without_idle_windows(TransformerConfig m) {
  const bool idle =
      std::ranges::all_of(m.attention_windows, [&](int64_t window) { return window == 0 || window >= m.max_length; });
  if (idle) m.attention_windows = {};
  return m;
}

// The model of CTranslate2 that comes nearest: the keys that it can vary are the model's own. A key that is not listed
// must have its default.
TransformerConfig nearest_ct2(const TransformerConfig& m) {
  const bool translates = m.encoder_layers > 0;
  const bool width_norm = m.qk_norm == QkNorm::Width;
  return {.layers = m.layers,
          .encoder_layers = m.encoder_layers,
          .width = m.width,
          .heads = std::min<int64_t>(m.heads, INT16_MAX),
          .kv_heads = m.derived_kv_heads(),
          .head_dim = m.derived_head_dim(),
          .ffn = m.derived_ffn(),
          .embedding_width = m.width,
          .padding_id = m.padding_id,
          .max_length = m.max_length,
          // With a bias it would be a LayerNorm there.
          .norm_kind = m.norm_bias ? NormKind::Layer : m.norm_kind,
          .norm_placement = m.norm_placement == NormPlacement::Post ? NormPlacement::Post : NormPlacement::Pre,
          .final_norm = m.final_norm,
          .norm_epsilon = m.norm_epsilon,
          .positions = m.positions,
          .sinusoid_form = m.sinusoid_form,
          .sinusoid_base = m.sinusoid_base,
          .rotary = m.rotary,
          .attention_score = m.attention_score == AttentionScore::Plain ? m.attention_score : AttentionScore::Scaled,
          // In cross-attention the queries of all heads would be normed as one.
          .qk_norm = translates   ? QkNorm::None
                     : width_norm ? QkNorm::Head
                                  : m.qk_norm,
          .activation = m.activation == Activation::None ? Activation::Silu : m.activation,
          .gated = m.gated,
          .bias = m.bias,
          .qkv_bias = m.qkv_bias,
          .norm_bias = m.norm_bias,
          .output_bias = m.output_bias,
          .tying = m.tying,
          .scale_embedding = m.scale_embedding,
          .dropout = m.dropout,
          .init = m.init,
          .init_std = m.init_std};
}

void check_sizes(const ModelToExport& model, const Ct2Plan& plan) {
  const auto check = [&](const std::string& name, const Shape& shape) {
    const int64_t bytes = shape.elements() * static_cast<int64_t>(stored_bytes(model.dtype));
    if (bytes <= kMostCt2Bytes) return;
    throw DataError(fmt::format("{}: {} takes {} bytes, and a variable of CTranslate2 has at most {}", model.where,
                                name, bytes, kMostCt2Bytes),
                    model.dtype == StoredType::F32 ? "--dtype bf16 halves that" : "");
  };
  for (const ExportedTensor& t : plan.stored.tensors) check(t.place.name, t.place.shape);
  for (const Ct2Table& t : plan.tables) check(t.name, t.shape);
}

}  // namespace

std::optional<std::string> why_not_ct2(const ModelToExport& model) {
  const TransformerConfig here = without_idle_windows(model.job.model).with_derived_sizes();
  if (const auto difference = first_difference(nearest_ct2(here), here)) return difference;
  return model.job.is_translation() ? why_not_ct2_specials(model) : std::nullopt;
}

Ct2Plan plan_ct2(const ModelToExport& model, const nlohmann::ordered_json& history) {
  if (const auto reason = why_not_ct2(model)) {
    throw DataError(fmt::format("{}: CTranslate2 cannot represent this model: {}", model.where, *reason),
                    "docs/huggingface.md lists what it can");
  }
  const TransformerConfig& m = model.job.model;
  const bool translates = model.job.is_translation();
  Ct2Plan plan{.stored = {.architecture = translates ? "TransformerSpec" : "TransformerDecoderSpec",
                          .weights = "model.bin",
                          .files = ct2_text_files(model, history)},
               .revision = translates ? 7u : 8u};
  for (const auto& [stack, layers] : stacks_of(m)) add_stack(m, stack, layers, plan.attributes);
  add_positions(m, plan);
  add_tied_tables(m, plan);
  ModelSpec spec{.config = m, .vocabularies = {.target = model.target_tokenizer->vocabulary()}};
  if (translates) spec.vocabularies.source = model.source_tokenizer->vocabulary();
  // A norm without beta is an RMSNorm there, so that of a LayerNorm is written as zeros.
  if (m.norm_kind == NormKind::Layer) spec.config.norm_bias = true;
  for (const auto& [name, shape] : parameters_of(spec)) {
    add_parameter(plan.stored, name, shape, ct2_places(m, name, shape));
  }
  check_sizes(model, plan);
  return plan;
}

}  // namespace weft
