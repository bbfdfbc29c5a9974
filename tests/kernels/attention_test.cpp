// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/attention.h"

#include <gtest/gtest.h>

#include "tests/kernels/fixture/attention_case.h"

namespace weft {
namespace {

using namespace test;

using test::AttentionCase;
using test::AttentionRun;
using test::offsets_of;
using test::same_bits;
using test::values;

testing::AssertionResult close(const Tensor& actual, const std::vector<double>& expected, double allowed) {
  const std::vector<double> a = values(actual);
  if (a.size() != expected.size()) return testing::AssertionFailure() << actual.text() << ", " << expected.size();
  double largest = 1;
  for (const double v : expected) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == expected[i] || std::abs(a[i] - expected[i]) <= allowed * largest) continue;  // false for NaN
    return testing::AssertionFailure() << "element " << i << " is " << a[i] << ", expected " << expected[i];
  }
  return testing::AssertionSuccess();
}

struct NamedCase {
  const char* name;
  AttentionCase c;
};

// Sizes 1, 7, 129 and others around the CPU's blocks and tiles; empty sequences; head_dims that are whole vectors and
// that are not; grouped queries.
std::vector<NamedCase> cases() {
  const std::vector<int32_t> ragged = offsets_of({1, 7, 0, 129, 50, 2});
  const std::vector<int32_t> memory = offsets_of({3, 0, 5, 131, 1, 64});
  const AttentionCase plain{.heads = {2, 1, 16}, .query_offsets = ragged, .key_offsets = ragged};
  std::vector<NamedCase> all;
  const auto add = [&](const char* name, auto&& change) {
    AttentionCase c = plain;
    change(c);
    all.push_back({name, c});
  };
  const auto cross = [&](AttentionCase& c) { c.cross = true, c.key_offsets = memory; };
  add("bidirectional", [](auto&) {});
  add("causal", [](auto& c) { c.causal = true; });
  add("cross", cross);
  add("causal_dropout", [](auto& c) { c.causal = true, c.dropout = 0.3, c.first_head = 5; });
  add("bidirectional_dropout", [](auto& c) { c.dropout = 0.1; });
  add("cross_dropout", [&](auto& c) { cross(c), c.dropout = 0.25; });
  add("grouped_queries", [](auto& c) { c.heads = {2, 3, 8}, c.causal = true; });
  add("multi_query_cross_dropout", [&](auto& c) { cross(c), c.heads = {1, 4, 7}, c.dropout = 0.2; });
  add("grouped_dropout", [](auto& c) {
    c.heads = {2, 3, 64}, c.causal = true, c.dropout = 0.2, c.first_head = 7;
    c.query_offsets = c.key_offsets = offsets_of({70, 9});
  });
  add("head_dim_1", [](auto& c) { c.heads.head_dim = 1; });
  add("head_dim_7", [](auto& c) { c.heads.head_dim = 7, c.causal = true; });
  add("head_dim_24", [](auto& c) { c.heads.head_dim = 24, c.causal = true; });
  add("head_dim_129", [](auto& c) { c.heads = {1, 1, 129}; });
  add("head_dim_128", [](auto& c) {
    c.heads = {1, 2, 128}, c.causal = true, c.dropout = 0.2;
    c.query_offsets = c.key_offsets = offsets_of({70, 3});
  });
  add("head_dim_256", [](auto& c) {
    c.heads = {1, 1, 256}, c.causal = true;
    c.query_offsets = c.key_offsets = offsets_of({40, 33});
  });
  add("head_dim_200", [](auto& c) {  // on a CUDA device two parts of columns, the second not full
    c.heads = {1, 2, 200}, c.dropout = 0.1;
    c.query_offsets = c.key_offsets = offsets_of({40, 33});
  });
  add("single_row", [](auto& c) { c.query_offsets = c.key_offsets = {0, 1}; });
  add("no_rows", [](auto& c) { c.query_offsets = c.key_offsets = {0}; });
  add("long", [](auto& c) {
    c.heads = {1, 1, 64}, c.causal = true;
    c.query_offsets = c.key_offsets = offsets_of({300, 193});
  });
  add("three_threads", [](auto& c) { c.threads = 3, c.causal = true; });
  add("window_of_1", [](auto& c) { c.causal = true, c.window = 1; });
  add("window_of_7", [](auto& c) { c.causal = true, c.window = 7, c.heads = {2, 3, 8}; });
  add("window_dropout", [](auto& c) { c.causal = true, c.window = 50, c.dropout = 0.3, c.first_head = 5; });
  add("window_around", [](auto& c) { c.window = 20, c.dropout = 0.2; });
  add("window_beyond_the_sequence", [](auto& c) { c.causal = true, c.window = 200; });
  add("long_window", [](auto& c) {
    c.heads = {1, 2, 64}, c.causal = true, c.window = 100, c.threads = 3;
    c.query_offsets = c.key_offsets = offsets_of({300, 193});
  });
  add("long_window_around", [](auto& c) {
    c.heads = {1, 1, 24}, c.window = 90;
    c.query_offsets = c.key_offsets = offsets_of({300, 193});
  });
  add("window_head_dim_256", [](auto& c) {
    c.heads = {1, 1, 256}, c.causal = true, c.window = 18;
    c.query_offsets = c.key_offsets = offsets_of({60, 33});
  });
  return all;
}

class Attention : public testing::TestWithParam<std::tuple<NamedCase, DType>> {
 protected:
  static AttentionCase with(DType dtype) {
    AttentionCase c = std::get<0>(GetParam()).c;
    c.dtype = dtype;
    return c;
  }
  // Weights lie in [0, 1] and sum to at most 1 / (1 - p): errors are some roundings of the inputs' size. Gradients
  // pass through two more products and read `out`, which bf16 has rounded.
  static double allowed(DType dtype) { return dtype == DType::F64 ? 1e-13 : dtype == DType::F32 ? 3e-6 : 1.5e-2; }
};

TEST_P(Attention, EqualsTheComposedFormula) {
  AttentionRun run(with(std::get<1>(GetParam())));
  run.forward();
  run.backward();
  const test::AttentionExpected expected = test::composed_attention(run);
  const double bound = allowed(run.parameters().dtype);
  EXPECT_TRUE(close(run.out, expected.out, bound)) << "out";
  EXPECT_TRUE(close(run.log_sum, expected.log_sum, bound)) << "log_sum";
  if (run.qkv) {
    EXPECT_TRUE(close(run.dqkv, expected.dqkv, 2 * bound)) << "dqkv";
  }
  if (run.q) {
    EXPECT_TRUE(close(run.dq, expected.dq, 2 * bound)) << "dq";
  }
  if (run.kv) {
    EXPECT_TRUE(close(run.dkv, expected.dkv, 2 * bound)) << "dkv";
  }
}

TEST_P(Attention, RepeatsBitForBitOnAnyNumberOfThreads) {
  AttentionCase c = with(std::get<1>(GetParam()));
  AttentionRun one(c);
  c.threads = 4;
  AttentionRun four(c);
  for (AttentionRun* run : {&one, &four}) run->forward(), run->backward();
  EXPECT_TRUE(same_bits(one.out, four.out));
  EXPECT_TRUE(same_bits(one.log_sum, four.log_sum));
  if (one.qkv) {
    EXPECT_TRUE(same_bits(one.dqkv, four.dqkv));
  }
  if (one.q) {
    EXPECT_TRUE(same_bits(one.dq, four.dq));
  }
  if (one.kv) {
    EXPECT_TRUE(same_bits(one.dkv, four.dkv));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Attention, testing::Combine(testing::ValuesIn(cases()), testing::Values(DType::F64, DType::F32, DType::BF16)),
    [](const auto& i) {
      return std::string(std::get<0>(i.param).name) + "_" + std::string(name(std::get<1>(i.param)));
    });

// A weight's channel is its key, on every part of a model.
TEST(AttentionDropout, ChannelsBeginAtTheFirstKey) {
  AttentionRun run({.query_offsets = {0, 3}, .key_offsets = {0, 3}, .dropout = 0.1, .dtype = DType::F32});
  Dropout dropout = run.dropout();
  dropout.first_channel = 8;
  EXPECT_EQ(test::error_of([&] { run.forward(run.scale(), dropout); }),
            "attention_forward: dropout begins at channel 8; attention's channels are its keys, from 0");
  EXPECT_EQ(test::error_of([&] { run.backward(run.scale(), dropout); }),
            "attention_backward: dropout begins at channel 8; attention's channels are its keys, from 0");
}

// A CUDA device takes the largest score of a row before the scale.
TEST(AttentionScale, CudaRefusesScalesNotAboveZero) {
  AttentionRun run({.query_offsets = {0, 3}, .key_offsets = {0, 3}, .dtype = DType::F32});
  for (const double scale : {0.0, -0.5}) {
    const std::string forward = test::error_of([&] { run.forward(scale, run.dropout()); });
    const std::string backward = test::error_of([&] { run.backward(scale, run.dropout()); });
    const std::string refused = fmt::format("attention on CUDA devices takes scales above 0, not {}", scale);
    const std::string expected = test::operations_on_cuda() ? refused : "no error";
    EXPECT_EQ(forward, expected);
    EXPECT_EQ(backward, expected);
  }
}

class AttentionGradient : public testing::TestWithParam<NamedCase> {};

TEST_P(AttentionGradient, MatchesFiniteDifferences) {
  AttentionRun run(GetParam().c);
  run.forward();
  run.backward();
  const Tensor out = test::copy(run.context(), run.out);
  const auto loss = [&] {
    run.forward();
    return test::dot(run.out, run.dout);
  };
  if (run.qkv) {
    EXPECT_TRUE(test::gradient_matches(run.qkv, run.dqkv, loss, 60));
  }
  if (run.q) {
    EXPECT_TRUE(test::gradient_matches(run.q, run.dq, loss, 60));
  }
  if (run.kv) {
    EXPECT_TRUE(test::gradient_matches(run.kv, run.dkv, loss, 60));
  }
  run.forward();
  EXPECT_TRUE(same_bits(run.out, out));
}
INSTANTIATE_TEST_SUITE_P(All, AttentionGradient, testing::ValuesIn(cases()),
                         [](const auto& i) { return std::string(i.param.name); });

TEST(AttentionNumbers, LargeScoresNeitherOverflowNorLoseTheSum) {
  for (const bool causal : {false, true}) {
    AttentionRun run({.heads = {1, 1, 16},
                      .query_offsets = offsets_of({200}),
                      .key_offsets = offsets_of({200}),
                      .causal = causal,
                      .dtype = DType::F32});
    for (float& v : run.qkv.span<float>()) v *= 20;
    run.forward();
    run.backward();
    const test::AttentionExpected expected = test::composed_attention(run);
    EXPECT_TRUE(close(run.out, expected.out, 2e-4));
    EXPECT_TRUE(close(run.dqkv, expected.dqkv, 2e-4));
  }
}

TEST(AttentionNumbers, NotANumberIsSeen) {
  AttentionRun run({.heads = {1, 1, 16},
                    .query_offsets = offsets_of({40}),
                    .key_offsets = offsets_of({40}),
                    .causal = true,
                    .dtype = DType::F32});
  run.qkv.data<float>()[20 * 48 + 16] = std::numeric_limits<float>::quiet_NaN();  // a key of row 20
  run.forward();
  const std::vector<double> out = values(run.out);
  EXPECT_TRUE(std::isfinite(out[19 * 16]));
  EXPECT_TRUE(std::isnan(out[20 * 16]));
  EXPECT_TRUE(std::isnan(out[39 * 16]));
}

// The mask's key holds the global head: shards of the heads drop what the whole drops.
TEST(AttentionDropout, ShardsOfHeadsReassemble) {
  const AttentionCase whole{.heads = {4, 1, 8},
                            .query_offsets = offsets_of({30, 11}),
                            .key_offsets = offsets_of({30, 11}),
                            .causal = true,
                            .dropout = 0.4,
                            .dtype = DType::F32};
  AttentionRun all(whole);
  all.forward();
  all.backward();
  for (const int64_t first : {0, 2}) {
    AttentionCase c = whole;
    c.heads.kv_heads = 2, c.first_head = first;
    AttentionRun part(c);
    for (int64_t r = 0; r < 41; ++r) {
      std::copy_n(all.qkv.data<float>() + r * 96 + first * 24, 48, part.qkv.data<float>() + r * 48);
      std::copy_n(all.dout.data<float>() + r * 32 + first * 8, 16, part.dout.data<float>() + r * 16);
    }
    part.forward();
    part.backward();
    for (int64_t r = 0; r < 41; ++r) {
      for (int64_t i = 0; i < 16; ++i) {
        ASSERT_EQ(part.out.data<float>()[r * 16 + i], all.out.data<float>()[r * 32 + first * 8 + i]);
      }
      for (int64_t i = 0; i < 48; ++i) {
        ASSERT_EQ(part.dqkv.data<float>()[r * 48 + i], all.dqkv.data<float>()[r * 96 + first * 24 + i]);
      }
    }
  }
}

// A sequence's result does not depend on the other sequences of its batch: dropout depends on its ids.
TEST(AttentionDropout, SequencesDoNotDependOnTheirNeighbours) {
  const AttentionCase c{.heads = {2, 1, 8},
                        .query_offsets = offsets_of({50, 20, 33}),
                        .key_offsets = offsets_of({50, 20, 33}),
                        .dropout = 0.3,
                        .dtype = DType::F32};
  AttentionRun batch(c);
  batch.forward();
  AttentionCase alone = c;
  alone.query_offsets = alone.key_offsets = offsets_of({0, 20});  // still sequence 51, now without its neighbours
  AttentionRun one(alone);
  std::copy_n(batch.qkv.data<float>() + 50 * 48, 20 * 48, one.qkv.data<float>());
  one.forward();
  EXPECT_TRUE(std::equal(one.out.data<float>(), one.out.data<float>() + 20 * 16, batch.out.data<float>() + 50 * 16));
}

class AttentionChecks : public testing::Test {
 protected:
  AttentionChecks() : meta_({DeviceKind::Meta, 0}) {}
  Tensor t(Shape shape, DType dtype = DType::F32) { return meta_.empty(shape, dtype); }
  AttentionForward good() {
    return {.qkv = t({5, 36}),
            .heads = {2, 1, 6},
            .query_offsets = offsets_,
            .key_offsets = offsets_,
            .causal = true,
            .out = t({5, 12}),
            .log_sum = t({2, 5})};
  }
  std::string message(const AttentionForward& args) {
    try {
      attention_forward(meta_, args);
    } catch (const InternalError& e) {
      return e.what();
    }
    return "accepted";
  }
  Context meta_;
  SharedOffsets offsets_ = share_offsets(meta_, std::array<int32_t, 3>{0, 2, 5});
};

TEST_F(AttentionChecks, RunsDryAndCountsWhatTheMathematicsNeeds) {
  const AttentionForward args = good();
  attention_forward(meta_, args);
  const double pairs = 3 + 6;  // pairs of a query and a key that it sees, for 2 and 3 rows
  EXPECT_EQ(meta_.ledger().entries().at("attention_forward").flops, pairs * 2 * 6 * 4);
  EXPECT_EQ(meta_.ledger().entries().at("attention_forward").bytes, 4 * (5 * 36 + 5 * 12 + 2 * 5));
  attention_backward(meta_, {.dout = t({5, 12}),
                             .qkv = args.qkv,
                             .heads = args.heads,
                             .query_offsets = offsets_,
                             .key_offsets = offsets_,
                             .causal = true,
                             .out = args.out,
                             .log_sum = args.log_sum,
                             .dqkv = t({5, 36})});
  EXPECT_EQ(meta_.ledger().entries().at("attention_backward").flops, pairs * 2 * 6 * 8);
  EXPECT_GT(meta_.memory().use().peak, meta_.memory().use().lent);  // scratch came from the pool
}

// Against counting: a window may end before a sequence does, or reach beyond it.
TEST_F(AttentionChecks, CountsThePairsOfAWindow) {
  for (const bool causal : {true, false}) {
    for (const int64_t window : {1, 2, 3, 7}) {
      AttentionForward args = good();
      args.causal = causal, args.window = window;
      int64_t pairs = 0;
      for (const int64_t length : {2, 3}) {
        for (int64_t i = 0; i < length; ++i) {
          for (int64_t j = 0; j < (causal ? i + 1 : length); ++j) pairs += std::abs(i - j) < window ? 1 : 0;
        }
      }
      meta_.ledger().clear();
      attention_forward(meta_, args);
      EXPECT_EQ(meta_.ledger().entries().at("attention_forward").flops, static_cast<double>(pairs * 2 * 6 * 4))
          << causal << " " << window;
    }
  }
}

TEST_F(AttentionChecks, NameWhatDoesNotFit) {
  EXPECT_EQ(message(good()), "accepted");
  AttentionForward a = good();
  a.qkv = t({5, 35});
  EXPECT_EQ(message(a), "attention_forward: qkv is f32[5, 35], expected [rows, 36]");
  a = good();
  a.q = t({5, 12});
  EXPECT_EQ(message(a), "attention_forward: give qkv, or q and kv, not f32[5, 36], f32[5, 12] and (absent)");
  a = good();
  a.heads.head_dim = 0;
  EXPECT_EQ(message(a), "attention_forward: kv_heads 2, queries 1, head_dim 0 must be positive");
  EXPECT_EQ(error_of([&] {
              share_offsets(meta_, std::array<int32_t, 4>{0, 4, 2, 5});
            }),
            "offsets of 3 sequences do not rise from 0");
  a = good();
  a.query_offsets = share_offsets(meta_, std::array<int32_t, 2>{0, 4});
  EXPECT_EQ(message(a), "attention_forward: query offsets end at 4, the tensor is f32[5, 36]");
  a.query_offsets = nullptr;
  EXPECT_EQ(message(a), "attention_forward: query offsets are absent");
  a.query_offsets = share_offsets(meta_, std::array<int32_t, 3>{0, 1, 5});
  EXPECT_EQ(message(a), "attention_forward: self-attention needs key offsets that are its query offsets");
  a = good();
  a.log_sum = t({2, 5}, DType::BF16);
  EXPECT_EQ(message(a), "attention_forward: log_sum is bf16[2, 5], expected f32[2, 5]");
  a = good();
  a.dropout.probability = 1;
  EXPECT_EQ(message(a), "attention_forward: dropout probability 1 is outside [0, 1)");
  a = good();
  a.qkv = {}, a.q = t({5, 12}), a.kv = t({5, 24});
  EXPECT_EQ(message(a), "attention_forward: cross-attention cannot be causal");
  a.causal = false, a.window = 3;
  EXPECT_EQ(message(a), "attention_forward: cross-attention cannot have a window");
  a = good();
  a.window = -3;
  EXPECT_EQ(message(a), "attention_forward: window -3");
}

TEST_F(AttentionChecks, BackwardNamesWhatDoesNotFit) {
  const AttentionForward f = good();
  AttentionBackward b{.dout = t({5, 12}),
                      .qkv = f.qkv,
                      .heads = f.heads,
                      .query_offsets = offsets_,
                      .key_offsets = offsets_,
                      .out = f.out,
                      .log_sum = f.log_sum,
                      .dqkv = t({5, 36})};
  attention_backward(meta_, b);
  b.dqkv = {};
  EXPECT_THROW(attention_backward(meta_, b), InternalError);
  b.dqkv = t({5, 36}), b.dout = t({5, 11});
  EXPECT_THROW(attention_backward(meta_, b), InternalError);
}

}  // namespace
}  // namespace weft
