// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/flat_layout.h"

#include <gtest/gtest.h>

#include "kernels/transfer.h"

namespace weft {
namespace {

// Three parameters of 100, 10 and 64 elements (rounded up to 64: 128, 64, 64), buckets of 128 elements or more.
FlatLayout layout_of(ZeroStage zero, int dp_rank, int dp_size) {
  return make_flat_layout(std::vector<int64_t>{100, 10, 64}, 4, {.zero = zero, .bucket_bytes = 128 * 4}, dp_rank,
                          dp_size);
}

TEST(FlatLayout, AlignsParametersAndCutsBucketsFromTheEnd) {
  const FlatLayout layout = layout_of(ZeroStage::Whole, 0, 1);
  EXPECT_EQ(layout.offsets, (std::vector<int64_t>{0, 128, 192}));
  EXPECT_EQ(layout.bucket_of, (std::vector<int>{1, 0, 0}));
  ASSERT_EQ(layout.buckets.size(), 2u);
  EXPECT_EQ(layout.buckets[0], (FlatRange{128, 256}));
  EXPECT_EQ(layout.buckets[1], (FlatRange{0, 128}));
  EXPECT_EQ(layout.elements, 256);
}

TEST(FlatLayout, AllIsOneOwnedRangeUnlessReplicasDivideIt) {
  for (const FlatLayout& layout : {layout_of(ZeroStage::Whole, 1, 3), layout_of(ZeroStage::Gradients, 0, 1)}) {
    EXPECT_FALSE(layout.sharded());
    EXPECT_EQ(layout.zero, ZeroStage::Whole);
    EXPECT_EQ(layout.owned, (std::vector<FlatRange>{{0, 256}}));
    EXPECT_EQ(layout.owned_elements, 256);
  }
}

// Buckets are padded so that three replicas get equal shares, which are disjoint and cover the whole buffer.
TEST(FlatLayout, ReplicasOwnEqualSharesOfEachBucket) {
  std::vector<int> owners(384, 0);
  for (int rank = 0; rank < 3; ++rank) {
    const FlatLayout layout = layout_of(ZeroStage::Optimizer, rank, 3);
    EXPECT_TRUE(layout.sharded());
    ASSERT_EQ(layout.elements, 384);
    EXPECT_EQ(layout.owned_elements, 128);
    EXPECT_EQ(layout.offsets, (std::vector<int64_t>{0, 192, 256}));
    ASSERT_EQ(layout.owned.size(), layout.buckets.size());
    for (size_t b = 0; b < layout.owned.size(); ++b) {
      EXPECT_EQ(layout.owned[b].size(), 64);
      EXPECT_EQ(overlap(layout.owned[b], layout.buckets[b]), layout.owned[b]);
      for (int64_t i = layout.owned[b].begin; i < layout.owned[b].end; ++i) owners[static_cast<size_t>(i)] += 1;
    }
  }
  EXPECT_EQ(owners, std::vector<int>(384, 1));
}

// Parameters 0 and 2 are frozen: they come first and share no bucket with trained parameters, and buffers of trained
// parameters do not include them.
TEST(FlatLayout, FrozenParametersLieBeforeAllThatIsTrained) {
  for (const int dp : {1, 3}) {
    const FlatLayout layout = make_flat_layout(std::vector<int64_t>{100, 10, 64, 70}, 4,
                                               {.zero = ZeroStage::Optimizer, .bucket_bytes = 1 << 20}, dp - 1, dp,
                                               {true, false, true, false});
    EXPECT_EQ(layout.bucket_of, (std::vector<int>{1, 0, 1, 0}));
    EXPECT_EQ(layout.trained_buckets, 1u);
    EXPECT_EQ(layout.trained_begin, 192);
    EXPECT_EQ(layout.offsets, (std::vector<int64_t>{0, 192, 128, 256}));
    EXPECT_EQ(layout.buckets, (std::vector<FlatRange>{{192, 384}, {0, 192}}));
    ASSERT_EQ(layout.trained_owned, 1u);
    if (dp == 1) {
      EXPECT_EQ(layout.owned, (std::vector<FlatRange>{{192, 384}, {0, 192}}));
    } else {
      EXPECT_EQ(layout.owned, (std::vector<FlatRange>{{320, 384}, {128, 192}}));
    }
    EXPECT_EQ(layout.trained_owned_elements, 192 / dp);
    EXPECT_EQ(layout.owned_elements, 384 / dp);
    Context context;
    const FlatBuffer moments = FlatBuffer::trained_shard(layout, context.zeros({192 / dp}, DType::F32));
    EXPECT_EQ(moments.parts({0, 384}), (std::vector<FlatRange>{layout.owned[0]}));
    EXPECT_THROW(moments.piece({128, 129}), InternalError);
  }
}

// Element i of the whole buffer holds i, whether a rank keeps the whole buffer or a shard.
TEST(FlatBuffer, GivesThePartsOfItsOwnedRanges) {
  const FlatLayout layout = layout_of(ZeroStage::Optimizer, 1, 2);  // owns [192, 256) and [64, 128)
  ASSERT_EQ(layout.owned, (std::vector<FlatRange>{{192, 256}, {64, 128}}));
  const auto numbered = [](const std::vector<FlatRange>& ranges) {
    std::vector<int32_t> values;
    for (const FlatRange& r : ranges) {
      for (int64_t i = r.begin; i < r.end; ++i) values.push_back(static_cast<int32_t>(i));
    }
    return values;
  };
  std::vector<int32_t> all = numbered({{0, 256}}), mine = numbered(layout.owned);
  Context context;
  const auto tensor = [&](const std::vector<int32_t>& values) {
    return to_device(context, std::span<const int32_t>(values));
  };
  for (const FlatBuffer& buffer : {FlatBuffer::whole(layout, tensor(all)), FlatBuffer::shard(layout, tensor(mine))}) {
    for (const FlatRange& part : {FlatRange{192, 256}, {200, 210}, {64, 128}, {127, 128}}) {
      const Tensor piece = buffer.piece(part);
      EXPECT_EQ(piece.elements(), part.size());
      EXPECT_EQ(piece.data<int32_t>()[0], part.begin);
    }
    EXPECT_THROW(buffer.piece({63, 65}), InternalError);
    EXPECT_THROW(buffer.piece({250, 257}), InternalError);
    EXPECT_EQ(buffer.parts({100, 200}), (std::vector<FlatRange>{{192, 200}, {100, 128}}));
    EXPECT_EQ(buffer.parts({0, 64}), std::vector<FlatRange>{});
  }
}

}  // namespace
}  // namespace weft
