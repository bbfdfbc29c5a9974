// SPDX-License-Identifier: Apache-2.0
// Examples that introductions to transformers compute by hand; docs/worked_examples.md quotes them.
#include <algorithm>

#include "kernels/ops/embed.h"
#include "tests/kernels/fixture/attention_case.h"

namespace weft {
namespace {

using namespace test;

void expect_rounded(const std::vector<double>& actual, const std::vector<double>& expected, double unit) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 0.51 * unit) << "element " << i;
}

TEST(AttentionByHand, CausalRowsSeeThemselvesAndEarlierOnes) {
  AttentionRun run({.heads = {.kv_heads = 1, .queries = 1, .head_dim = 2},
                    .query_offsets = {0, 3},
                    .key_offsets = {0, 3},
                    .causal = true,
                    .dtype = DType::F32});
  // query, key, value of each of three tokens
  const std::vector<float> tokens = {1, 0,  3,  4,  3, 3,  //
                                     0, 2,  -2, -3, 4, 4,  //
                                     1, -2, 1,  0,  2, 2};
  std::ranges::copy(tokens, run.qkv.span<float>().begin());
  run.forward(1 / std::sqrt(2.0), run.dropout());
  expect_rounded(values(run.out), {3, 3, 3.00005, 3.00005, 3.78471, 3.78471}, 1e-5);
  run.forward(1, run.dropout());
  expect_rounded(values(run.out), {3, 3, 3, 3, 3.90504, 3.90504}, 1e-5);
}

TEST(Sinusoids, SixPositionsOfWidthSix) {
  const std::vector<float> table = sinusoids(6, 6, SinusoidForm::Interleaved, 10000);
  // a row for each position; columns 0, 2, 4 are sines, 1, 3, 5 cosines
  const std::vector<double> by_hand = {0,       1,       0,      1,      0,      1,  //
                                       0.8415,  0.5403,  0.0464, 0.9989, 0.0022, 1,  //
                                       0.9093,  -0.4161, 0.0927, 0.9957, 0.0043, 1,  //
                                       0.1411,  -0.9900, 0.1388, 0.9903, 0.0065, 1,  //
                                       -0.7568, -0.6536, 0.1846, 0.9828, 0.0086, 1,  //
                                       -0.9589, 0.2837,  0.2300, 0.9732, 0.0108, 0.9999};
  expect_rounded({table.begin(), table.end()}, by_hand, 1e-4);
}

}  // namespace
}  // namespace weft
