// SPDX-License-Identifier: Apache-2.0
// The weights that an attention has given, made again of its log-sums.
#include "kernels/ops/attention_weights.h"

#include <gtest/gtest.h>

#include "tests/kernels/fixture/attention_case.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

using test::AttentionCase;
using test::AttentionRun;
using test::offsets_of;

class AttentionWeights : public testing::TestWithParam<std::tuple<AttentionCase, DType>> {};

// Sequences of one token and of many, one without keys, groups of queries, keys behind the mask, dropout.
std::vector<AttentionCase> cases_of_weights() {
  const std::vector<int32_t> ragged = offsets_of({1, 7, 0, 129}), memory = offsets_of({3, 0, 5, 40});
  return {{.heads = {2, 1, 16}, .query_offsets = ragged, .key_offsets = ragged},
          {.heads = {2, 3, 8}, .query_offsets = ragged, .key_offsets = ragged, .causal = true, .dropout = 0.3},
          {.heads = {1, 4, 7}, .query_offsets = ragged, .key_offsets = memory, .cross = true},
          {.heads = {3, 1, 1}, .query_offsets = ragged, .key_offsets = ragged, .causal = true, .threads = 3}};
}

TEST_P(AttentionWeights, EqualTheComposedFormula) {
  AttentionCase c = std::get<0>(GetParam());
  c.dtype = std::get<1>(GetParam());
  AttentionRun run(c);
  run.forward();
  const AttentionExpected expected = composed_attention(run);
  // log_sum is rounded to fp32, also under bf16, whose queries and keys are read as they are.
  const double allowed = c.dtype == DType::F64 ? 1e-7 : 3e-6;
  for (size_t s = 0; s < expected.weights.size(); ++s) {
    const std::vector<float> weights =
        attention_weights(run.context(), run.args(run.scale(), run.dropout()), static_cast<int64_t>(s));
    ASSERT_EQ(weights.size(), expected.weights[s].size()) << "sequence " << s;
    for (size_t i = 0; i < weights.size(); ++i) {
      ASSERT_NEAR(weights[i], expected.weights[s][i], allowed) << "sequence " << s << ", weight " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionWeights,
                         testing::Combine(testing::ValuesIn(cases_of_weights()),
                                          testing::Values(DType::F64, DType::F32, DType::BF16)),
                         [](const auto& i) { return fmt::format("{}_{}", i.index / 3, name(std::get<1>(i.param))); });

TEST(AttentionWeightsChecks, NameWhatDoesNotFit) {
  AttentionRun run({.query_offsets = {0, 3}, .key_offsets = {0, 3}, .dtype = DType::F32});
  run.forward();
  AttentionForward args = run.args(run.scale(), {});
  EXPECT_EQ(error_of([&] { attention_weights(run.context(), args, 1); }), "attention_weights: sequence 1 of 1");
  args.log_sum = args.log_sum.view({3, 1});
  EXPECT_NE(error_of([&] { attention_weights(run.context(), args); }).find("log_sum"), std::string::npos);
}

}  // namespace
}  // namespace weft
