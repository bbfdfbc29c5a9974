// SPDX-License-Identifier: Apache-2.0
// Finite differences in f64 through whole models, for every option that changes the graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <functional>
#include <set>

#include "parallel/parameters/parameter_patterns.h"
#include "tests/model/fixture/model.h"
#include "tests/model/fixture/variations.h"

namespace weft {
namespace {

using namespace test;

struct Case {
  std::string name;
  bool seq2seq;
  std::function<void(TransformerConfig&)> change;
  LoraConfig lora = {};
  std::vector<std::string> freeze = {};
};

std::unique_ptr<Transformer> make(const Case& c, Context& context, Mesh& mesh) {
  TransformerConfig config = test::small_config(c.seq2seq);
  c.change(config);
  auto model = make_model(context, mesh,
                          {.config = config, .vocabularies = test::small_vocabularies(c.seq2seq), .lora = c.lora});
  for (const Parameter* p : matching_parameters(model->parameters(), c.freeze, "train.freeze")) {
    model->parameters().freeze(*p);
  }
  return model;
}

double run(Transformer& model, const ModelBatch& batch, GradientBuckets* buckets, bool record, Recompute recompute) {
  const StepState state{.inverse_divisor = 0.25, .dropout_key = 99};
  Tape tape(model.context(), record ? Tape::Mode::Record : Tape::Mode::Discard, buckets);
  ForwardContext forward{.tape = tape, .step = state, .recompute = recompute};
  if (buckets) buckets->begin_step();
  const LossSums sums = no_losses(model.context());
  model.loss(forward, batch, {.smoothing = 0.1, .z_loss = 0.02}, sums);
  tape.backward();
  if (buckets) buckets->finish();
  return sums.loss.data<double>()[0] * 0.25;
}

class ModelGradient : public testing::TestWithParam<Case> {};

TEST_P(ModelGradient, EqualsFiniteDifferences) {
  Context context;
  Mesh mesh = Mesh::single();
  const auto model = make(GetParam(), context, mesh);
  model->allocate(Precision::Fp64, Purpose::Training, {.bucket_bytes = 4096});
  model->parameters().initialise(3);
  // Biases and norms away from 0 and 1, so that their gradients are not special.
  for (double& w : model->parameters().master().data.span<double>()) w += 0.01 * std::sin(1e4 * w + 1);
  GradientBuckets buckets(model->parameters());
  const ModelBatch batch = test::random_batch(context, model->vocabularies(), {5, 1, 4});
  run(*model, batch, &buckets, true, Recompute::None);
  const Tensor gradient = model->parameters().flat_gradient();
  const std::vector<double> kept(gradient.span<double>().begin(), gradient.span<double>().end());
  const int64_t begin = model->parameters().layout().trained_begin;
  for (const auto& p : model->parameters().parameters()) {
    if (p->spec().frozen) continue;
    double* w = p->value().data<double>();  // in f64 the masters are the values
    const int64_t n = p->local_shape().elements();
    for (int64_t i = 0; i < n; i += std::max<int64_t>(1, n / 5)) {
      const double at = w[i], step = 1e-5 * std::max(1.0, std::abs(at));
      w[i] = at + step;
      const double above = run(*model, batch, nullptr, false, Recompute::None);
      w[i] = at - step;
      const double below = run(*model, batch, nullptr, false, Recompute::None);
      w[i] = at;
      const double slope = (above - below) / (2 * step), got = kept[p->flat_offset() - begin + i];
      const double expected = p->spec().zero_row == i / p->spec().shape[-1] ? 0 : slope;  // padding is not trained
      EXPECT_NEAR(got, expected, 1e-7 + 1e-5 * std::abs(expected)) << p->spec().name << "[" << i << "]";
    }
  }
}

TEST_P(ModelGradient, RecomputationIsBitIdentical) {
  Context context;
  Mesh mesh = Mesh::single();
  for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
    const auto model = make(GetParam(), context, mesh);
    model->allocate(precision, Purpose::Training, {.bucket_bytes = 4096});
    model->parameters().initialise(3);
    GradientBuckets buckets(model->parameters());
    const ModelBatch batch = test::random_batch(context, model->vocabularies(), {5, 1, 4});
    const double plain = run(*model, batch, &buckets, true, Recompute::None);
    const Tensor gradient = model->parameters().flat_gradient();
    const std::vector<float> kept(gradient.span<float>().begin(), gradient.span<float>().end());
    for (const Recompute recompute : {Recompute::Attention, Recompute::Block}) {
      EXPECT_EQ(run(*model, batch, &buckets, true, recompute), plain);
      EXPECT_TRUE(std::equal(kept.begin(), kept.end(), gradient.data<float>()));
    }
  }
}

// Without dropout the output of a branch and the stream before it have the same gradient, which is written once.
TEST(ResidualGradient, IsWrittenOnceIfNothingIsDropped) {
  for (const NormPlacement placement : {NormPlacement::Pre, NormPlacement::Post}) {
    const auto bytes = [&](double dropout) {
      Context context;
      Mesh mesh = Mesh::single();
      const auto model = make({"", false,
                               [&](TransformerConfig& c) {
                                 c.norm_placement = placement;
                                 c.dropout.residual = dropout;
                               }},
                              context, mesh);
      model->allocate(Precision::Fp64, Purpose::Training, {.bucket_bytes = 4096});
      model->parameters().initialise(3);
      GradientBuckets buckets(model->parameters());
      run(*model, test::random_batch(context, model->vocabularies(), {5, 1, 4}), &buckets, true, Recompute::None);
      return context.ledger().entries().at("residual_norm_backward").bytes;
    };
    constexpr double kBranches = 4, kRows = 10, kWidth = 12;  // of small_config() and the batch
    EXPECT_EQ(bytes(0.5) - bytes(0), kBranches * kRows * kWidth * sizeof(double));
  }
}

void all_dropout(TransformerConfig& c) {
  c.dropout = {.embedding = 0.1, .residual = 0.2, .ffn = 0.1, .attention = 0.2};
}

const Case kCases[] = {
    {"GptPreNorm", false, [](TransformerConfig&) {}},
    {"GptPostNormRelu", false,
     [](TransformerConfig& c) {
       c.norm_placement = NormPlacement::Post;
       c.final_norm = false;
       c.activation = Activation::Relu;
     }},
    {"GptNoBiasUntied", false,
     [](TransformerConfig& c) {
       c.bias = c.norm_bias = false;
       c.tying = Tying::None;
       c.output_bias = true;
     }},
    {"GptRmsNorm", false,
     [](TransformerConfig& c) {
       c.norm_kind = NormKind::Rms;
       c.bias = c.norm_bias = false;
     }},
    {"GptSwiGlu", false,
     [](TransformerConfig& c) {
       c.activation = Activation::Silu, c.gated = true;
       c.bias = false;
     }},
    {"GptRotary", false,
     [](TransformerConfig& c) {
       c.positions = Positions::Rotary;
       c.heads = 4, c.kv_heads = 2, c.head_dim = 6;
     }},
    {"GptQwen3", false,
     [](TransformerConfig& c) {
       c.positions = Positions::Rotary, c.rotary.form = RotaryForm::Interleaved;
       c.qk_norm = QkNorm::Head, c.norm_kind = NormKind::Rms;
       c.bias = c.norm_bias = false, c.qkv_bias = true;
       c.heads = 4, c.kv_heads = 2, c.head_dim = 4;
     }},
    {"GptOlmo2", false,
     [](TransformerConfig& c) {
       c.positions = Positions::Rotary, c.qk_norm = QkNorm::Width;
       c.norm_kind = NormKind::Rms, c.norm_placement = NormPlacement::Branch;
       c.bias = c.norm_bias = false;
       c.dropout.residual = 0.1;
     }},
    {"GptWindows", false,
     [](TransformerConfig& c) {
       all_dropout(c);
       c.attention_windows = {3, 0};
     }},
    {"GptLlama3", false,
     [](TransformerConfig& c) {
       c.positions = Positions::Rotary, c.norm_kind = NormKind::Rms;
       c.rotary.scaling = RotaryScaling::Llama3, c.rotary.factor = 8, c.rotary.original_length = 128;
       c.activation = Activation::Silu, c.gated = true;
       c.bias = c.norm_bias = false;
     }},
    {"GptLinearlyScaledBilinear", false,
     [](TransformerConfig& c) {
       c.positions = Positions::Rotary, c.rotary.scaling = RotaryScaling::Linear, c.rotary.factor = 4;
       c.activation = Activation::None, c.gated = true;
     }},
    {"GptCosineScores", false, [](TransformerConfig& c) { c.attention_score = AttentionScore::Cosine; }},
    {"GptPlainScores", false, [](TransformerConfig& c) { c.attention_score = AttentionScore::Plain; }},
    {"GptProjectedEmbedding", false,
     [](TransformerConfig& c) {
       c.embedding_width = 7;
       c.tying = Tying::None;
       c.positions = Positions::Sinusoidal;
       c.scale_embedding = true;
     }},
    {"GptProjectedLearned", false,
     [](TransformerConfig& c) {
       c.embedding_width = 7;
       c.tying = Tying::None;
       c.dropout.embedding = 0.2;
     }},
    {"GptDropout", false, all_dropout},
    {"GptGroupedQuery", false,
     [](TransformerConfig& c) {
       c.heads = 4;
       c.kv_heads = 2;
       c.head_dim = 5;
     }},
    {"GptNoPositionsGelu", false,
     [](TransformerConfig& c) {
       c.positions = Positions::None;
       c.activation = Activation::Gelu;
     }},
    {"GptPostNormFinalNorm", false,
     [](TransformerConfig& c) {
       c.norm_placement = NormPlacement::Post;
       c.dropout.residual = 0.2;
     }},
    {"Seq2SeqPostNormFinalNorm", true, [](TransformerConfig& c) { c.norm_placement = NormPlacement::Post; }},
    {"Seq2SeqPostNormAllTied", true,
     [](TransformerConfig& c) {
       c.norm_placement = NormPlacement::Post;
       c.tying = Tying::All;
       c.final_norm = false;
       c.positions = Positions::Sinusoidal;
       c.sinusoid_form = SinusoidForm::Halves;
       c.scale_embedding = true;
       c.init = InitScheme::Xavier;
     }},
    {"Seq2SeqPreNormDropout", true, all_dropout},
    {"Seq2SeqMemoryNorm", true,
     [](TransformerConfig& c) {
       all_dropout(c);
       c.cross_norm = CrossNorm::Memory;
       c.final_norm = false;
       c.positions = Positions::Sinusoidal;
       c.sinusoid_form = SinusoidForm::HalvesFromOne;
     }},
    {"Seq2SeqRmsNormPost", true,
     [](TransformerConfig& c) {
       all_dropout(c);
       c.norm_kind = NormKind::Rms, c.norm_placement = NormPlacement::Post;
       c.norm_bias = false;
     }},
    {"Seq2SeqGeGluBiasDropout", true,
     [](TransformerConfig& c) {
       all_dropout(c);
       c.activation = Activation::Gelu, c.gated = true;
     }},
    {"Seq2SeqModern", true,
     [](TransformerConfig& c) {
       all_dropout(c);
       c.positions = Positions::Rotary, c.qk_norm = QkNorm::Head, c.norm_kind = NormKind::Rms;
       c.activation = Activation::Silu, c.gated = true;
       c.bias = c.norm_bias = false;
     }},
    {"Seq2SeqBranchNormsWidth", true,
     [](TransformerConfig& c) {
       all_dropout(c);
       c.norm_placement = NormPlacement::Branch, c.qk_norm = QkNorm::Width;
     }},
    {"Seq2SeqWindows", true, [](TransformerConfig& c) { c.attention_windows = {2}; }},
    {"Seq2SeqPadding", true,
     [](TransformerConfig& c) {
       c.padding_id = 2;
       c.tying = Tying::None;
       c.positions = Positions::Sinusoidal;
       c.sinusoid_form = SinusoidForm::PerColumn;
     }},
    {"Seq2SeqUntied", true,
     [](TransformerConfig& c) {
       c.tying = Tying::None;
       c.bias = false;
     }},
    {"GptLora", false, [](TransformerConfig&) {}, {.rank = 3, .alpha = 5, .targets = {"attention.*", "ffn.*"}}},
    {"GptLoraDropout",
     false,
     all_dropout,
     {.rank = 2, .dropout = 0.3, .targets = {"attention.output", "ffn.down", "decoder.1.ffn.up"}}},
    {"GptLoraProjectedEmbedding",
     false,
     [](TransformerConfig& c) {
       c.embedding_width = 7;
       c.tying = Tying::None;
       c.bias = false;
     },
     {.rank = 2, .targets = {"projection", "qkv"}}},
    {"Seq2SeqLora", true, all_dropout, {.rank = 2, .alpha = 3, .targets = {"cross.*", "encoder.*.qkv", "ffn.down"}}},
    {"GptFrozenEmbedding", false, [](TransformerConfig&) {}, {}, {"decoder.embedding.*", "decoder.0.*norm*"}},
    {"Seq2SeqFrozenDecoder", true, [](TransformerConfig&) {}, {}, {"decoder.*", "*bias"}},
};

// An option, or a value of an option, that is added later needs a case.
TEST(ModelGradientCases, HoldEveryOptionThatChangesTheGraph) {
  std::set<std::string> held;
  for (const Case& c : kCases) {
    TransformerConfig config = small_config(c.seq2seq);
    c.change(config);
    for (const ConfigChange& change : config_changes(small_config(c.seq2seq), config)) {
      held.insert({change.key, change.key + "=" + change.after});
    }
  }
  std::vector<std::string> missing;
  const std::function use = [&](const std::string& key, const std::string& change) {
    const bool is_number = std::isdigit(static_cast<unsigned char>(change[key.size() + 1])) != 0;
    if (!held.contains(is_number ? key : change)) missing.push_back(change);
  };
  TransformerConfig config = small_config(false);
  Variations all{"", use};
  config.fields(all);
  // These are sizes and constants.
  EXPECT_THAT(missing, testing::ElementsAre("layers=4", "encoder_layers=1", "width=24", "ffn=40", "max_length=32",
                                            "norm_epsilon=5e-06", "sinusoid_base=5000", "rotary.base=5000",
                                            "rotary.low_frequency_factor=0.5", "rotary.high_frequency_factor=2",
                                            "init_std=0.15"));
}

INSTANTIATE_TEST_SUITE_P(Options, ModelGradient, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft
