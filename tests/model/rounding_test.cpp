// SPDX-License-Identifier: Apache-2.0
// The roundings of a bf16 model: once for each value that it keeps, never for a part of a sum.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/ops/linear.h"
#include "kernels/ops/matmul.h"
#include "kernels/ops/residual_norm.h"
#include "model/layers/feed_forward.h"
#include "model/layers/rotary_tables.h"
#include "model/packed_weights.h"
#include "parallel/local/in_process.h"
#include "tests/model/fixture/model.h"

namespace weft {
namespace {

using namespace test;

float rounded(float value) { return static_cast<float>(BFloat16(value)); }

void fill_waves(const Tensor& t, double scale) {
  for (int64_t i = 0; i < t.elements(); ++i) {
    t.data<BFloat16>()[i] = BFloat16(static_cast<float>(scale * std::sin(1.7 * static_cast<double>(i) + 0.3)));
  }
}

// One tp rank's feed-forward layer in bf16, and an input.
struct Rank {
  static constexpr int64_t kTokens = 64;
  Context context;
  const TransformerConfig config = small_config(false);
  ParameterRegistry registry;
  DropoutIds ids;
  TensorParallel shards;
  LoraSites lora{{}};
  RotaryTables rotary;
  LayerScope scope;
  FeedForward ffn;
  Tensor x;
  Tokens tokens;

  explicit Rank(Mesh& mesh)
      : registry(context, mesh),
        shards(mesh.tp(), false),
        scope{registry, config, ids, shards, lora, rotary, 2},
        ffn(scope, "ffn"),
        x(context.empty({kTokens, config.width}, DType::BF16)) {
    registry.allocate(Precision::Bf16, Purpose::Inference);
    registry.initialise(3);
    fill_waves(value("ffn.down.bias"), 0.02);
    fill_waves(x, 2);
    const std::vector<int32_t> ones(kTokens, 1), offsets{0, kTokens};
    tokens = pack_tokens(context, {.tokens = ones, .offsets = offsets});
  }
  Tensor value(const char* name) const { return registry.find(name)->value(); }
  // x + ffn(norm(x))
  Tensor joined(Tape& tape, bool batch_invariant = false) const {
    PackedWeights packed(registry);
    ForwardContext forward{
        .tape = tape, .batch_invariant = batch_invariant, .packed = batch_invariant ? &packed : nullptr};
    Residual residual(tape.constant(x));
    residual.apply(forward, ffn, tokens);
    return residual.value(forward, tokens)->value;
  }
};

// The input of the residual, this rank's part of the last product in f32, the bias, and the result.
struct Joined {
  std::vector<float> x, part, bias, sum;
};

Joined run_feed_forward(Mesh& mesh, bool batch_invariant) {
  Rank rank(mesh);
  Context& context = rank.context;
  const Tensor& x = rank.x;
  const auto value = [&](const char* name) { return rank.value(name); };
  const int64_t n = Rank::kTokens, hidden = value("ffn.up.bias").elements();
  Tape tape(context, Tape::Mode::Off);
  const Tensor sum = rank.joined(tape, batch_invariant);

  const Tensor normed = context.empty(x.shape(), DType::BF16), up = context.empty({n, hidden}, DType::BF16);
  residual_norm_forward(context, {.x = x,
                                  .gamma = value("ffn_norm.weight"),
                                  .beta = value("ffn_norm.bias"),
                                  .epsilon = rank.config.norm_epsilon,
                                  .normed = normed,
                                  .mean = context.empty({n}, DType::F32),
                                  .rstd = context.empty({n}, DType::F32)});
  linear_forward(context, {.x = normed,
                           .weight = value("ffn.up.weight"),
                           .bias = value("ffn.up.bias"),
                           .activation = rank.config.activation,
                           .y = up});
  const Tensor part = context.empty(x.shape(), DType::F32);
  matmul(context, {.a = up, .b = value("ffn.down.weight"), .c = part, .transpose_b = true});
  const auto floats = [](const Tensor& t) {
    std::vector<float> out;
    for (const BFloat16 v : t.span<BFloat16>()) out.push_back(static_cast<float>(v));
    return out;
  };
  const auto parts = part.span<float>();
  return {floats(x), {parts.begin(), parts.end()}, floats(value("ffn.down.bias")), floats(sum)};
}

// A product with another order of its sum may round a few elements to the other side.
constexpr double kOtherSide = 0.01;

template <class Expected>
double differing(const Joined& j, Expected&& expected) {
  const size_t width = j.bias.size();
  double differ = 0;
  for (size_t i = 0; i < j.sum.size(); ++i) differ += j.sum[i] != expected(i, j.bias[i % width]);
  return differ / static_cast<double>(j.sum.size());
}

class Rounding : public testing::TestWithParam<bool> {};

TEST_P(Rounding, OneRankRoundsAProductAndItsSumWithBiasAndResidual) {
  Mesh mesh = Mesh::single();
  const Joined j = run_feed_forward(mesh, GetParam());
  EXPECT_LE(differing(j, [&](size_t i, float bias) { return rounded(j.x[i] + (rounded(j.part[i]) + bias)); }),
            kOtherSide);
  // Rounding the branch with its bias gives other results, so the test can distinguish the two.
  EXPECT_GT(differing(j, [&](size_t i, float bias) { return rounded(j.x[i] + rounded(j.part[i] + bias)); }), 0.05);
}

TEST_P(Rounding, ASumOverTpIsRoundedWithBiasAndResidual) {
  std::vector<Joined> ranks(2);
  run_in_process({.tp = 2},
                 [&](Mesh& mesh, int rank) { ranks[static_cast<size_t>(rank)] = run_feed_forward(mesh, GetParam()); });
  const auto &a = ranks[0].part, &b = ranks[1].part;
  for (const Joined& j : ranks) {
    EXPECT_LE(differing(j, [&](size_t i, float bias) { return rounded(j.x[i] + (a[i] + b[i] + bias)); }), kOtherSide);
    const auto parts_rounded = [&](size_t i, float bias) {
      return rounded(j.x[i] + (rounded(rounded(a[i]) + rounded(b[i])) + bias));
    };
    EXPECT_GT(differing(j, parts_rounded), 0.05);
  }
}

INSTANTIATE_TEST_SUITE_P(BatchInvariant, Rounding, testing::Bool());

// Backward needs the sum, not the branch's output.
TEST(Activations, ABranchOutputIsReleasedAfterTheJoin) {
  for (const int tp : {1, 2}) {
    run_in_process({.tp = tp}, [&](Mesh& mesh, int) {
      Rank rank(mesh);
      Tape tape(rank.context, Tape::Mode::Record);
      const size_t before = rank.context.memory().use().tensors;
      const Tensor sum = rank.joined(tape);
      const int64_t width = rank.config.width, hidden = rank.value("ffn.up.bias").elements();
      const int64_t elements = 2 * width + 2 * hidden;  // per token: norm, sum; before and after the activation
      EXPECT_EQ(rank.context.memory().use().tensors - before,
                static_cast<size_t>(Rank::kTokens * (2 * elements + 2 * 4)));
    });
  }
}

// The logits of a bf16 model are f32, as in the loss: near 40 bf16 has only multiples of a quarter.
TEST(DecodedLogits, EqualTheLogitsOfTheLoss) {
  Context context;
  Mesh mesh = Mesh::single();
  const Vocabularies vocabularies = small_vocabularies(false);
  const auto model = make_model(context, mesh, {.config = small_config(false), .vocabularies = vocabularies});
  model->allocate(Precision::Bf16, Purpose::Inference);
  model->parameters().initialise(5);
  for (BFloat16& gain : model->parameters().find("decoder.final_norm.weight")->value().span<BFloat16>()) {
    gain = BFloat16(40.0f);
  }
  for (int32_t token = 0; token < vocabularies.target; ++token) {
    const std::vector<int32_t> tokens{token}, offsets{0, 1};
    const auto cache = model->begin_decoding({}, 1, 1, 4);
    const Tensor logits = model->decode(*cache, tokens, offsets);
    ASSERT_EQ(logits.dtype(), DType::F32);
    const auto row = logits.span<float>();
    const double most = *std::ranges::max_element(row);
    double sum = 0;
    EXPECT_GT(most, 16) << "too small to tell";
    for (const float x : row) sum += std::exp(static_cast<double>(x) - most);
    ModelBatch batch{.input = pack_tokens(context, {.tokens = tokens, .offsets = offsets})};
    batch.targets = context.empty({1}, DType::I32);
    for (int32_t target = 0; target < vocabularies.target; ++target) {
      batch.targets.data<int32_t>()[0] = target;
      Tape tape(context, Tape::Mode::Off);
      ForwardContext forward{.tape = tape};
      const LossSums sums = no_losses(context);
      model->loss(forward, batch, {}, sums);
      EXPECT_NEAR(most + std::log(sum) - row[static_cast<size_t>(target)], sums.nll.data<double>()[0], 1e-4)
          << token << " to " << target;
    }
  }
}

}  // namespace
}  // namespace weft
