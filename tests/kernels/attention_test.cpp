#include "kernels/attention.h"

#include <gtest/gtest.h>

#include "tests/kernels/attention_case.h"

namespace weft {
namespace {

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

// Sizes 1, 7, 129 and others around the blocks and tiles of the CPU's code; empty sequences; head_dims that are and are
// not whole vectors; grouped queries.
std::vector<NamedCase> cases() {
  const Offsets ragged = offsets_of({1, 7, 0, 129, 50, 2});
  const Offsets memory = offsets_of({3, 0, 5, 131, 1, 64});
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
  add("head_dim_1", [](auto& c) { c.heads.head_dim = 1; });
  add("head_dim_7", [](auto& c) { c.heads.head_dim = 7, c.causal = true; });
  add("head_dim_24", [](auto& c) { c.heads.head_dim = 24, c.causal = true; });
  add("head_dim_129", [](auto& c) { c.heads = {1, 1, 129}; });
  add("single_row", [](auto& c) { c.query_offsets = c.key_offsets = {0, 1}; });
  add("no_rows", [](auto& c) { c.query_offsets = c.key_offsets = {0}; });
  add("long", [](auto& c) {
    c.heads = {1, 1, 64}, c.causal = true;
    c.query_offsets = c.key_offsets = offsets_of({300, 193});
  });
  add("three_threads", [](auto& c) { c.threads = 3, c.causal = true; });
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

}  // namespace
}  // namespace weft
