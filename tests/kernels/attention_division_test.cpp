// SPDX-License-Identifier: Apache-2.0
// Attention's backward pass divides its work by shape and threads: scratch stays small, and the bits stay the same.
#include <gtest/gtest.h>

#include "kernels/backend/backend.h"
#include "tests/kernels/fixture/attention_case.h"

namespace weft {
namespace {

using namespace test;

constexpr size_t kMiB = size_t{1} << 20;

// Bytes of scratch for one causal sequence of f32, all threads together.
size_t scratch(const AttentionHeads& heads, int64_t length, int threads) {
  Context meta({DeviceKind::Meta, 0}, threads);
  const SharedOffsets offsets = share_offsets(meta, std::array<int32_t, 2>{0, static_cast<int32_t>(length)});
  const int64_t wide = heads.heads() * heads.head_dim, packed = wide + 2 * heads.kv_heads * heads.head_dim;
  const AttentionBackward args{.dout = meta.empty({length, wide}, DType::F32),
                               .qkv = meta.empty({length, packed}, DType::F32),
                               .heads = heads,
                               .query_offsets = offsets,
                               .key_offsets = offsets,
                               .causal = true,
                               .out = meta.empty({length, wide}, DType::F32),
                               .log_sum = meta.empty({heads.heads(), length}, DType::F32),
                               .dqkv = meta.empty({length, packed}, DType::F32)};
  return meta.backend().workspace(args);
}

TEST(AttentionScratch, StaysSmallForManyHeadsAndLongSequences) {
  EXPECT_LT(scratch({1, 32, 128}, 8192, 1), 32 * kMiB);
  EXPECT_EQ(scratch({1, 32, 128}, 8192, 1), scratch({1, 1, 128}, 8192, 1));
  for (const int threads : {2, 16, 64}) EXPECT_LT(scratch({1, 32, 128}, 8192, threads), threads * kMiB) << threads;
  for (const int threads : {1, 4}) EXPECT_LT(scratch({8, 4, 128}, 1 << 20, threads), threads * kMiB) << threads;
}

// One thread takes the whole sequence; more threads share it, in tasks too small to hold all of it.
TEST(AttentionScratch, ALongSequenceIsSharedByThreads) {
  const size_t whole = scratch({1, 1, 64}, 4096, 1);
  for (const int threads : {2, 3, 64}) EXPECT_LT(scratch({1, 1, 64}, 4096, threads) / threads, whole / 8) << threads;
  EXPECT_EQ(scratch({12, 1, 64}, 1024, 2), 2 * scratch({12, 1, 64}, 1024, 1)) << "enough heads for two threads";
  EXPECT_LT(scratch({12, 1, 64}, 1024, 64), 64 * scratch({12, 1, 64}, 1024, 1)) << "but not for 64";
}

class AttentionDivision : public testing::TestWithParam<DType> {};

// Lengths beyond a task's run of queries and of keys: threads share them, one thread does not.
TEST_P(AttentionDivision, DoesNotChangeABit) {
  // Host threads divide no work of a CUDA device: there the order of blocks changes, and blocks are smaller.
  const std::vector<int> threads_of_others = operations_on_cuda() ? std::vector{1} : std::vector{3, 4, 7};
  const int32_t longest = operations_on_cuda() ? 140 : 530;
  const auto cross = [&](AttentionCase& c) {
    c.cross = true, c.causal = false, c.key_offsets = offsets_of({longest + 81, 0, 70});
  };
  const std::vector<int32_t> lengths = offsets_of({longest, 3, 40});
  const AttentionCase causal{.heads = {1, 3, 16},
                             .query_offsets = lengths,
                             .key_offsets = lengths,
                             .causal = true,
                             .dropout = 0.2,
                             .dtype = GetParam()};
  AttentionCase full = causal, other = causal, window = causal, around = causal;
  window.window = 75, around.window = 30, around.causal = false;
  full.causal = false, full.heads = {1, 1, 24};
  cross(other);
  for (AttentionCase c : {causal, full, other, window, around}) {
    AttentionRun one(c);
    one.forward(), one.backward();
    for (const int threads : threads_of_others) {
      c.threads = threads;
      AttentionRun many(c);
      many.forward(), many.backward();
      EXPECT_TRUE(same_bits(one.out, many.out)) << threads;
      const auto same = [&](const Tensor& a, const Tensor& b) { return !a || same_bits(a, b); };
      EXPECT_TRUE(same(one.dqkv, many.dqkv)) << threads;
      EXPECT_TRUE(same(one.dq, many.dq)) << threads;
      EXPECT_TRUE(same(one.dkv, many.dkv)) << threads;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionDivision, testing::Values(DType::F32, DType::BF16, DType::F64),
                         [](const auto& i) { return std::string(name(i.param)); });

}  // namespace
}  // namespace weft
