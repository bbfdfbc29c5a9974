// SPDX-License-Identifier: Apache-2.0
#include "tests/model/fixture/model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft {
namespace {

using namespace test;

int64_t count_parameters(const TransformerConfig& config, const Vocabularies& vocabularies) {
  Context context({.kind = DeviceKind::Meta});
  Mesh mesh = Mesh::single();
  return make_model(context, mesh, {.config = config, .vocabularies = vocabularies})->parameters().global_elements();
}

TEST(ParameterCount, Gpt2) {
  TransformerConfig c{.layers = 12, .width = 768, .heads = 12, .max_length = 1024};
  EXPECT_EQ(count_parameters(c, {.target = 50257}), 124'439'808);
}

TEST(ParameterCount, SmallPostNormGptUntied) {
  TransformerConfig c{.layers = 12,
                      .width = 144,
                      .heads = 6,
                      .ffn = 2048,
                      .embedding_width = 128,
                      .norm_placement = NormPlacement::Post,
                      .final_norm = false,
                      .positions = Positions::Sinusoidal,
                      .activation = Activation::Relu,
                      .output_bias = true,
                      .tying = Tying::None};
  EXPECT_EQ(count_parameters(c, {.target = 512}), 8'271'696);
}

TEST(ParameterCount, TransformersOfThePapers) {
  TransformerConfig base{.layers = 6,
                         .encoder_layers = 6,
                         .width = 512,
                         .heads = 8,
                         .ffn = 2048,
                         .norm_placement = NormPlacement::Post,
                         .final_norm = false,
                         .positions = Positions::Sinusoidal,
                         .activation = Activation::Relu,
                         .tying = Tying::All};
  EXPECT_NEAR(static_cast<double>(count_parameters(base, {.source = 37000, .target = 37000})), 65e6, 3e6);
  TransformerConfig tiny = base;
  tiny.layers = tiny.encoder_layers = 4, tiny.width = 128, tiny.heads = 4, tiny.ffn = 256;
  EXPECT_EQ(count_parameters(tiny, {.source = 9712, .target = 9712}), 2'568'192);
}

// gpt2's scheme: each branch adds to the variance of its own stack's residual stream, so its last product is drawn
// smaller by the square root of their number.
TEST(Init, ResidualProjectionsGoByTheBranchesOfTheirStack) {
  const auto deviation = [](const TransformerConfig& c, const std::string& name) {
    Context context({.kind = DeviceKind::Meta});
    Mesh mesh = Mesh::single();
    const auto model = make_model(
        context, mesh, {.config = c, .vocabularies = {.source = c.encoder_layers > 0 ? 11 : 0, .target = 11}});
    return model->parameters().find(name)->spec().init.spread;
  };
  const TransformerConfig gpt{.layers = 8, .init_std = 0.5};
  EXPECT_DOUBLE_EQ(deviation(gpt, "decoder.7.ffn.down.weight"), 0.5 / 4);  // 8 x (attention, feed-forward)
  EXPECT_DOUBLE_EQ(deviation(gpt, "decoder.7.ffn.up.weight"), 0.5);
  const TransformerConfig translation{.layers = 3, .encoder_layers = 8, .init_std = 0.5};
  for (const char* name : {"attention.output", "ffn.down"}) {
    EXPECT_DOUBLE_EQ(deviation(translation, fmt::format("encoder.0.{}.weight", name)), 0.5 / 4) << name;
  }
  for (const char* name : {"attention.output", "cross.output", "ffn.down"}) {  // 3 x (these)
    EXPECT_DOUBLE_EQ(deviation(translation, fmt::format("decoder.0.{}.weight", name)), 0.5 / 3) << name;
  }
}

// A site's dropout mask depends only on its name, not on the other sites of the model.
TEST(DropoutIds, AreHashesOfNamesAndUnique) {
  DropoutIds one, other;
  other.add("encoder.0.attention");
  EXPECT_EQ(one.add("decoder.3.attention"), other.add("decoder.3.attention"));
  EXPECT_NE(one.add("decoder.3.attention.residual"), one.add("decoder.3.ffn.residual"));
  EXPECT_THROW(one.add("decoder.3.attention"), InternalError);
}

struct Built {
  Context context;
  Mesh mesh = Mesh::single();
  std::unique_ptr<Transformer> model;
  Built(bool seq2seq, Precision precision, bool later, int threads = 1) : context({}, threads) {
    ModelSpec spec = test::small_spec(seq2seq);
    if (later) {
      set_blocks(Blocks::Olmo2, spec.config);
      spec.config.qkv_bias = true, spec.config.attention_windows = {4, 0};
    }
    model = make_model(context, mesh, spec);
    model->allocate(precision, Purpose::Inference);
    model->parameters().initialise(5);
  }
};

TEST(Model, UntrainedLossIsLogVocabulary) {
  for (const bool seq2seq : {false, true}) {
    Context context;
    Mesh mesh = Mesh::single();
    TransformerConfig config = test::small_config(seq2seq);
    config.width = 48, config.init_std = 0.02;
    const Vocabularies v{.source = seq2seq ? 500 : 0, .target = 500};
    const auto model = make_model(context, mesh, {.config = config, .vocabularies = v});
    model->allocate(Precision::Fp32, Purpose::Inference);
    model->parameters().initialise(1);
    const ModelBatch batch = test::random_batch(context, v, {16, 9, 12});
    Tape tape(context, Tape::Mode::Off);
    ForwardContext forward{.tape = tape};
    const LossSums sums = no_losses(context);
    model->loss(forward, batch, {}, sums);
    const double loss = sums.nll.data<double>()[0];
    int64_t targets = 0;
    for (const int32_t t : batch.targets.span<int32_t>()) targets += t >= 0;
    EXPECT_NEAR(loss / static_cast<double>(targets), std::log(500.0), 0.1 * std::log(500.0));
  }
}

// The logits of one decoding of several rows of `batch` at once, fed in pieces of `piece` tokens.
std::vector<std::vector<float>> decode_all(Transformer& model, const ModelBatch& batch,
                                           const std::vector<int64_t>& rows, int32_t piece) {
  Context& context = model.context();
  const auto sub = [&](const Tokens& all) {
    const std::vector<int32_t>& offsets = all->offsets->host;
    test::TokenRows out;
    for (const int64_t r : rows) {
      for (int32_t i = offsets[r]; i < offsets[r + 1]; ++i) out.tokens.push_back(all->tokens.data<int32_t>()[i]);
      out.offsets.push_back(static_cast<int32_t>(out.tokens.size()));
    }
    return out;
  };
  Tokens source;
  if (batch.source) {
    const auto s = sub(batch.source);
    source = pack_tokens(context, {.tokens = s.tokens, .offsets = s.offsets});
  }
  const auto n = static_cast<int64_t>(rows.size());
  const auto cache = model.begin_decoding(source, n, n, 16);
  const auto input = sub(batch.input);
  std::vector<std::vector<float>> logits;
  // All rows here have the same length, so that they stay alive together.
  const int32_t length = input.offsets[1];
  for (int32_t at = 0; at < length; at += piece) {
    const int32_t take = std::min(piece, length - at);
    std::vector<int32_t> tokens, offsets{0};
    for (size_t r = 0; r < rows.size(); ++r) {
      for (int32_t i = 0; i < take; ++i) tokens.push_back(input.tokens[input.offsets[r] + at + i]);
      offsets.push_back(static_cast<int32_t>(tokens.size()));
    }
    logits = test::rows_of(model.decode(*cache, tokens, offsets));
  }
  return logits;
}

class Decoding : public testing::TestWithParam<std::tuple<bool, Precision, bool>> {};

// Rows that are decoded together never change each other's bits.
TEST_P(Decoding, RowsDoNotDependOnTheirNeighbours) {
  const auto [seq2seq, precision, later] = GetParam();
  Built built(seq2seq, precision, later, 2);
  const ModelBatch batch = test::random_batch(built.context, built.model->vocabularies(), std::vector<int32_t>(37, 9));
  std::vector<int64_t> all(37);
  std::iota(all.begin(), all.end(), 0);
  const auto together = decode_all(*built.model, batch, all, 1);
  for (const int64_t r : {0, 3, 17, 36}) EXPECT_EQ(decode_all(*built.model, batch, {r}, 1)[0], together[r]) << r;
  const auto five = decode_all(*built.model, batch, {36, 5, 4, 3, 2}, 1);
  EXPECT_EQ(five[0], together[36]);
  EXPECT_EQ(five[3], together[3]);
}

// The widths and the number of rows exceed what kernels/cpu/products/matmul.cpp calls few: products of one row and of
// all rows are computed in different ways there.
TEST(DecodingWide, RowsDoNotDependOnTheirNeighbours) {
  for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
    Context context({}, 2);
    Mesh mesh = Mesh::single();
    const TransformerConfig config{.layers = 1, .width = 768, .heads = 12, .ffn = 3072, .max_length = 16};
    const auto model = make_model(context, mesh, {.config = config, .vocabularies = {.target = 50257}});
    model->allocate(precision, Purpose::Inference);
    uint32_t draw = 1;  // 46 million normal numbers would take seconds
    for (float& w : model->parameters().master().data.span<float>()) {
      draw = draw * 1664525u + 1013904223u;
      w = static_cast<float>(draw >> 8) * 0x1p-24f - 0.5f;
    }
    model->parameters().sync_compute_weights();
    const ModelBatch batch = test::random_batch(context, model->vocabularies(), std::vector<int32_t>(70, 2));
    std::vector<int64_t> all(70);
    std::iota(all.begin(), all.end(), 0);
    const auto together = decode_all(*model, batch, all, 1);
    EXPECT_NE(together[1], together[69]);
    EXPECT_EQ(decode_all(*model, batch, {1}, 1)[0], together[1]);
    EXPECT_EQ(decode_all(*model, batch, {3, 69}, 1)[1], together[69]);
  }
}

// Packs belong to the model: made once, however many caches and steps there are; a change of the weights drops them.
TEST_P(Decoding, PacksEachWeightOnceUntilTheWeightsChange) {
  const auto [seq2seq, precision, later] = GetParam();
  Built built(seq2seq, precision, later);
  const ModelBatch batch = test::random_batch(built.context, built.model->vocabularies(), {9, 9});
  const auto packings = [&](int32_t piece) {
    built.context.ledger().clear();
    decode_all(*built.model, batch, {0, 1}, piece);
    const auto& entries = built.context.ledger().entries();
    return entries.contains("pack_weight") ? entries.at("pack_weight").calls : 0;
  };
  const int64_t first = packings(9);
  EXPECT_GT(first, 4);
  EXPECT_EQ(packings(1), 0);
  EXPECT_GT(built.model->packed_weights().bytes(), 0u);
  const auto before = decode_all(*built.model, batch, {0}, 9);
  built.model->parameters().initialise(99);
  EXPECT_EQ(packings(9), first);
  EXPECT_NE(decode_all(*built.model, batch, {0}, 9), before);
}

// The memory of the packs becomes free for training, which changes the packed weights.
TEST(PackedWeights, ARecordingForwardPassDropsThePacks) {
  Context context;
  Mesh mesh = Mesh::single();
  const auto model = make_model(context, mesh, test::small_spec(false));
  model->allocate(Precision::Fp32, Purpose::Training);
  model->parameters().initialise(5);
  const ModelBatch batch = test::random_batch(context, model->vocabularies(), {9, 9});
  decode_all(*model, batch, {0, 1}, 9);
  EXPECT_GT(model->packed_weights().bytes(), 0u);
  GradientBuckets buckets(model->parameters());
  Tape tape(context, Tape::Mode::Record, &buckets);
  ForwardContext forward{.tape = tape};
  model->loss(forward, batch, {}, no_losses(context));
  EXPECT_EQ(model->packed_weights().bytes(), 0u);
}

// A model that decodes in a format also computes its loss with the weights of this format.
TEST_P(Decoding, WeightsOfAFormatServeDecodingAndLossAlike) {
  const auto [seq2seq, precision, later] = GetParam();
  Built built(seq2seq, precision, later, 2);
  const ModelBatch batch = test::random_batch(built.context, built.model->vocabularies(), std::vector<int32_t>(7, 9));
  const auto loss = [&] {
    Tape tape(built.context, Tape::Mode::Off);
    ForwardContext forward{.tape = tape};
    const LossSums sums = no_losses(built.context);
    built.model->loss(forward, batch, {}, sums);
    return sums.nll.data<double>()[0];
  };
  const double own = loss();
  const auto expected = decode_all(*built.model, batch, {0}, 9);
  built.model->packed_weights().set_format(WeightFormat::Int8);
  const auto together = decode_all(*built.model, batch, {0, 1, 2, 3, 4, 5, 6}, 9);
  EXPECT_EQ(decode_all(*built.model, batch, {4}, 9)[0], together[4]);
  EXPECT_NE(together[0], expected[0]);
  const double bound = later ? 0.3 : 0.1;  // norms of branches enlarge small branches, and what was rounded in them
  for (size_t i = 0; i < expected[0].size(); ++i) EXPECT_NEAR(together[0][i], expected[0][i], bound);
  EXPECT_NE(loss(), own);
  EXPECT_NEAR(loss(), own, 0.01 * own);
}

// Decoding with the cache gives the logits of the whole forward pass.
TEST_P(Decoding, EqualsTheFullForward) {
  const auto [seq2seq, precision, later] = GetParam();
  Built built(seq2seq, precision, later);
  const ModelBatch batch = test::random_batch(built.context, built.model->vocabularies(), {9, 9});
  const auto stepwise = decode_all(*built.model, batch, {0, 1}, 1);
  const auto pieces = decode_all(*built.model, batch, {0, 1}, 4);
  const auto whole = decode_all(*built.model, batch, {0, 1}, 9);
  const double bound = precision == Precision::Bf16 ? 0.05 : 1e-4;  // bf16: rows are rounded in another order
  for (size_t i = 0; i < whole[0].size(); ++i) {
    EXPECT_NEAR(stepwise[0][i], whole[0][i], bound);
    EXPECT_NEAR(pieces[1][i], whole[1][i], bound);
  }
  // The loss of the last target is -log softmax of those logits.
  Tape tape(built.context, Tape::Mode::Off);
  ForwardContext forward{.tape = tape};
  for (int64_t r = 0; r < batch.input->count(); ++r) batch.targets.data<int32_t>()[r] = r == 8 ? 3 : -1;
  const LossSums sums = no_losses(built.context);
  built.model->loss(forward, batch, {}, sums);
  const double nll = sums.nll.data<double>()[0];
  double sum = 0;
  for (const float x : whole[0]) sum += std::exp(static_cast<double>(x));
  EXPECT_NEAR(nll, std::log(sum) - whole[0][3], 4 * bound);
}

// A decoder whose sources are all empty attends to nothing.
TEST_P(Decoding, SourcesWithoutATokenAreDecoded) {
  const auto [seq2seq, precision, later] = GetParam();
  if (!seq2seq) return;
  Built built(seq2seq, precision, later);
  const std::vector<int32_t> nothing, ends{0, 0, 0}, tokens{1, 2}, offsets{0, 1, 2};
  const auto cache =
      built.model->begin_decoding(pack_tokens(built.context, {.tokens = nothing, .offsets = ends}), 2, 2, 16);
  const Tensor logits = built.model->decode(*cache, tokens, offsets);
  for (const float x : logits.span<float>()) EXPECT_TRUE(std::isfinite(x));
}

// Rows that begin while others are under way give the logits of rows in a cache of their own.
TEST_P(Decoding, RowsMayBeginWhileOthersContinue) {
  const auto [seq2seq, precision, later] = GetParam();
  Built built(seq2seq, precision, later);
  Transformer& model = *built.model;
  const auto source = [&](std::vector<int32_t> tokens, std::vector<int32_t> offsets) {
    return seq2seq ? pack_tokens(built.context, {.tokens = tokens, .offsets = offsets}) : Tokens();
  };
  const auto feed = [&](KeyValueCache& cache, std::vector<int32_t> tokens, std::vector<int32_t> offsets) {
    const Tensor t = model.decode(cache, tokens, offsets);
    std::vector<std::vector<float>> rows;
    for (int64_t r = 0; r < t.size(0); ++r) {
      rows.emplace_back(t.data<float>() + r * t.columns(), t.data<float>() + (r + 1) * t.columns());
    }
    return rows;
  };
  const auto cache = model.make_cache({.slots = 3, .capacity = 8, .sources = 3, .longest_source = 4});
  model.admit(*cache, source({5, 6, 7, 8, 9, 4}, {0, 4, 6}), 2);
  feed(*cache, {1, 2}, {0, 1, 2});
  cache->reorder(std::vector<int32_t>{1});
  model.admit(*cache, source({3, 4, 2, 2}, {0, 3, 4}), 2);  // one row replaces a source that has ended
  const auto three = feed(*cache, {7, 3, 4, 5, 6}, {0, 1, 4, 5});
  const auto first = model.begin_decoding(source({9, 4}, {0, 2}), 1, 1, 8);
  feed(*first, {2}, {0, 1});
  EXPECT_EQ(feed(*first, {7}, {0, 1})[0], three[0]);
  const auto second = model.begin_decoding(source({3, 4, 2}, {0, 3}), 1, 1, 8);
  EXPECT_EQ(feed(*second, {3, 4, 5}, {0, 3})[0], three[1]);
  const auto third = model.begin_decoding(source({2}, {0, 1}), 1, 1, 8);
  EXPECT_EQ(feed(*third, {6}, {0, 1})[0], three[2]);
  EXPECT_THROW(model.admit(*cache, source({2}, {0, 1}), 1), InternalError);
}

TEST_P(Decoding, ReorderedRowsContinueFromTheirParents) {
  const auto [seq2seq, precision, later] = GetParam();
  Built built(seq2seq, precision, later);
  const ModelBatch batch = test::random_batch(built.context, built.model->vocabularies(), {6, 6});
  const Tokens source = batch.source;
  const auto feed = [&](KeyValueCache& cache, std::vector<int32_t> tokens) {
    std::vector<int32_t> offsets(tokens.size() + 1);
    std::iota(offsets.begin(), offsets.end(), 0);
    const Tensor t = built.model->decode(cache, tokens, offsets);
    return std::vector<float>(t.data<float>(), t.data<float>() + t.elements());
  };
  const auto forked = built.model->begin_decoding(source, 2, 4, 16);
  feed(*forked, {1, 2});
  feed(*forked, {3, 4});
  forked->reorder(std::vector<int32_t>{1, 1, 0, 1});
  const auto four = feed(*forked, {5, 6, 5, 5});
  const auto straight = built.model->begin_decoding(source, 2, 2, 16);
  feed(*straight, {1, 2});
  feed(*straight, {3, 4});
  const auto two = feed(*straight, {5, 5});
  const size_t v = two.size() / 2;
  EXPECT_TRUE(std::equal(two.begin(), two.begin() + v, four.begin() + 2 * v));
  EXPECT_TRUE(std::equal(two.begin() + v, two.end(), four.begin()));
  EXPECT_TRUE(std::equal(two.begin() + v, two.end(), four.begin() + 3 * v));
  EXPECT_FALSE(std::equal(two.begin() + v, two.end(), four.begin() + v));
  // Dropped rows make room again.
  forked->reorder(std::vector<int32_t>{2});
  forked->reorder(std::vector<int32_t>{0, 0, 0, 0});
  EXPECT_THROW(forked->reorder(std::vector<int32_t>{0, 0, 0, 0, 0}), InternalError);
}

INSTANTIATE_TEST_SUITE_P(Models, Decoding,
                         testing::Combine(testing::Bool(), testing::Values(Precision::Fp32, Precision::Bf16),
                                          testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) ? "Seq2Seq" : "Gpt") +
                                  (std::get<1>(info.param) == Precision::Bf16 ? "Bf16" : "Fp32") +
                                  (std::get<2>(info.param) ? "LaterBlocks" : "");
                         });

// The costs of one forward and backward pass on a device, by operation.
std::map<std::string, Ledger::Entry, std::less<>> costs_of(Device device, bool seq2seq, Precision precision,
                                                           size_t* peak) {
  Context context(device);
  Mesh mesh = Mesh::single();
  const auto model = make_model(context, mesh, test::small_spec(seq2seq));
  model->allocate(precision, Purpose::Training);
  if (!context.meta()) model->parameters().initialise(5);
  GradientBuckets buckets(model->parameters());
  const ModelBatch batch = test::random_batch(context, model->vocabularies(), {5, 3});
  const LossSums sums = no_losses(context);
  context.ledger().clear();
  Tape tape(context, Tape::Mode::Record, &buckets);
  ForwardContext forward{.tape = tape};
  model->loss(forward, batch, {.smoothing = 0.1}, sums);
  tape.backward();
  *peak = context.memory().use().peak;
  return context.ledger().entries();
}

// The dry device runs the same code: shapes, costs and memory without data.
TEST(Model, RunsDryAsItRuns) {
  for (const bool seq2seq : {false, true}) {
    for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
      size_t dry_peak = 0, peak = 0;
      const auto dry = costs_of({.kind = DeviceKind::Meta}, seq2seq, precision, &dry_peak);
      const auto real = costs_of({}, seq2seq, precision, &peak);
      ASSERT_EQ(dry.size(), real.size());
      for (const auto& [name, cost] : real) {
        ASSERT_TRUE(dry.contains(name)) << name;
        EXPECT_EQ(dry.at(name).calls, cost.calls) << name;
        EXPECT_EQ(dry.at(name).flops, cost.flops) << name;
        EXPECT_EQ(dry.at(name).bytes, cost.bytes) << name;
      }
      EXPECT_EQ(dry_peak, peak);
      for (const char* name : {"attention_backward", "cross_entropy", "embed_backward", "linear_backward"}) {
        EXPECT_TRUE(real.contains(name)) << name;
      }
      EXPECT_GT(real.at("linear_backward").flops, real.at("linear_forward").flops);
    }
  }
}

}  // namespace
}  // namespace weft
