// SPDX-License-Identifier: Apache-2.0
// A sequence's results do not depend on the others of its batch, to the bit. On a CUDA device the mean length of a
// batch decides how many rows share a warp and a block; what is added up for a row, and in which order, stays the same.
#include <gtest/gtest.h>

#include "tests/kernels/fixture/attention_case.h"

namespace weft {
namespace {

using namespace test;

constexpr int32_t kLookedAt = 100;  // of the sequence that is looked at, more than a tile of keys

struct Neighbours {
  const char* name;
  AttentionCase alone;
};

std::vector<Neighbours> cases_of_neighbours() {
  const std::vector<int32_t> own = offsets_of({kLookedAt});
  const AttentionCase plain{.heads = {1, 2, 64}, .query_offsets = own, .key_offsets = own};
  std::vector<Neighbours> all{{"bidirectional", plain}};
  const auto add = [&](const char* name, auto&& change) {
    all.push_back({name, plain});
    change(all.back().alone);
  };
  add("causal_dropout", [](auto& c) { c.causal = true, c.dropout = 0.2; });
  add("cross", [](auto& c) { c.cross = true, c.key_offsets = offsets_of({kLookedAt + 30}); });
  add("head_dim_24", [](auto& c) { c.heads = {2, 1, 24}, c.causal = true; });
  return all;
}

// The rows of sequence 0 of a tensor, as bits.
testing::AssertionResult same_first_rows(const Tensor& a, const Tensor& b, int64_t rows) {
  if (!a && !b) return testing::AssertionSuccess();
  const std::vector<double> left = values(a), right = values(b);
  for (int64_t i = 0; i < rows * a.columns(); ++i) {
    if (left[i] != right[i] || std::signbit(left[i]) != std::signbit(right[i])) {
      return testing::AssertionFailure() << "element " << i << " is " << right[i] << ", alone " << left[i];
    }
  }
  return testing::AssertionSuccess();
}

class AttentionNeighbours : public testing::TestWithParam<std::tuple<Neighbours, DType>> {};

TEST_P(AttentionNeighbours, ChangeNoBit) {
  AttentionCase c = std::get<0>(GetParam()).alone;
  c.dtype = std::get<1>(GetParam());
  AttentionRun alone(c);
  const int32_t keys = c.key_offsets[1];
  c.query_offsets = offsets_of({kLookedAt, 9, 0, 31, 20});
  c.key_offsets = c.cross ? offsets_of({keys, 12, 5, 0, 18}) : c.query_offsets;
  AttentionRun batch(c);
  for (AttentionRun* run : {&alone, &batch}) run->forward(), run->backward();
  EXPECT_TRUE(same_first_rows(alone.out, batch.out, kLookedAt));
  EXPECT_TRUE(same_first_rows(alone.dqkv, batch.dqkv, kLookedAt));
  EXPECT_TRUE(same_first_rows(alone.dq, batch.dq, kLookedAt));
  EXPECT_TRUE(same_first_rows(alone.dkv, batch.dkv, keys));
  const std::vector<double> one = values(alone.log_sum), all = values(batch.log_sum);  // [heads, rows]
  for (int64_t h = 0; h < c.heads.heads(); ++h) {
    for (int64_t r = 0; r < kLookedAt; ++r) {
      ASSERT_EQ(one[h * kLookedAt + r], all[h * c.query_offsets.back() + r]) << "head " << h << " row " << r;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionNeighbours,
                         testing::Combine(testing::ValuesIn(cases_of_neighbours()),
                                          testing::Values(DType::F32, DType::BF16)),
                         [](const auto& i) {
                           return std::string(std::get<0>(i.param).name) + "_" +
                                  std::string(name(std::get<1>(i.param)));
                         });

}  // namespace
}  // namespace weft
