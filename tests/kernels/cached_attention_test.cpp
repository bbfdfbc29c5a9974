// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/kernels/fixture/attention_case.h"

namespace weft {
namespace {

using namespace test;

using test::AttentionRun;
using test::offsets_of;
using test::random;
using test::same_bits;

// New rows of a few sequences whose earlier keys and values lie in the cache.
struct Call {
  std::vector<int32_t> offsets, slots, past;
  int64_t window = 0;
};

double scale_of(const AttentionHeads& h) { return 1 / std::sqrt(static_cast<double>(h.head_dim)); }

Tensor decode(Context& context, const AttentionHeads& heads, const Tensor& qkv, const Call& call, const Tensor& cache) {
  const Tensor out = context.empty({qkv.size(0), heads.heads() * heads.head_dim}, qkv.dtype());
  cached_attention(context, {.qkv = qkv,
                             .heads = heads,
                             .query_offsets = share_offsets(context, call.offsets),
                             .rows = share_cache_rows(context, call.slots, call.past),
                             .window = call.window,
                             .scale = scale_of(heads),
                             .cache = cache,
                             .out = out});
  return out;
}

class AttentionWithCache : public testing::TestWithParam<std::tuple<DType, AttentionHeads>> {};

// Row by row from an empty cache equals full causal attention; and every way of cutting a sequence into calls gives the
// same bits.
TEST_P(AttentionWithCache, EqualsFullAttentionAndDoesNotDependOnTheCut) {
  const auto& [dtype, heads] = GetParam();
  const int32_t length = 150;
  AttentionRun full({.heads = heads,
                     .query_offsets = offsets_of({length}),
                     .key_offsets = offsets_of({length}),
                     .causal = true,
                     .dtype = dtype});
  full.forward();
  OperationContext context({}, 2);
  const int64_t pair = heads.kv_heads * 2 * heads.head_dim;
  Tensor first;
  for (const std::vector<int32_t>& cuts : {std::vector<int32_t>{length}, {1, 140, 9}, {100, 1, 1, 48}, {60, 90}}) {
    const Tensor cache = random(context, {3, length, pair}, dtype, 9);
    const Tensor out = context.empty(full.out.shape(), dtype);
    int32_t at = 0;
    for (const int32_t n : cuts) {
      const Call call{.offsets = {0, n}, .slots = {1}, .past = {at}};
      const Tensor part = decode(context, heads, full.qkv.slice(at, at + n), call, cache);
      std::copy_n(part.raw(), part.bytes(), out.slice(at, at + n).raw());
      at += n;
    }
    if (!first) first = out;
    EXPECT_TRUE(same_bits(out, first));
    EXPECT_TRUE(test::close(out, full.out, dtype == DType::BF16 ? 1e-2 : dtype == DType::F32 ? 3e-6 : 1e-14));
  }
}

// A window's keys lie in a ring, or at their positions in a cache that has room for all: the bits are the same,
// whatever the cut, and equal full attention with the same window.
TEST_P(AttentionWithCache, AWindowNeedsNoMoreThanARing) {
  const auto& [dtype, heads] = GetParam();
  const int32_t length = 420;
  const int64_t pair = heads.kv_heads * 2 * heads.head_dim;
  for (const int64_t window : {1, 40, 129}) {
    AttentionRun full({.heads = heads,
                       .query_offsets = offsets_of({length}),
                       .key_offsets = offsets_of({length}),
                       .causal = true,
                       .window = window,
                       .dtype = dtype});
    full.forward();
    OperationContext context({}, 2);
    Tensor first;
    const std::vector<int32_t> one_by_one(length, 1);
    for (const auto& [capacity, cuts] : {std::pair<int64_t, std::vector<int32_t>>{length, {length}},
                                         {256, {100, 1, 127, 80, 1, 1, 110}},
                                         {256, {128, 128, 128, 36}},
                                         {256, one_by_one}}) {
      if (operations_on_cuda() && cuts.size() == one_by_one.size()) continue;  // a simulated device is slow
      const Tensor cache = random(context, {3, capacity, pair}, dtype, 9);
      const Tensor out = context.empty(full.out.shape(), dtype);
      int32_t at = 0;
      for (const int32_t n : cuts) {
        const Call call{.offsets = {0, n}, .slots = {1}, .past = {at}, .window = window};
        const Tensor part = decode(context, heads, full.qkv.slice(at, at + n), call, cache);
        std::copy_n(part.raw(), part.bytes(), out.slice(at, at + n).raw());
        at += n;
      }
      if (!first) first = out;
      EXPECT_TRUE(same_bits(out, first)) << capacity << ", cut in " << cuts.size();
      EXPECT_TRUE(test::close(out, full.out, dtype == DType::BF16 ? 1e-2 : dtype == DType::F32 ? 3e-6 : 1e-14));
    }
  }
}

// A row's bits do not depend on other rows, their order, the slot or the number of threads.
TEST_P(AttentionWithCache, ARowDoesNotDependOnTheOthers) {
  const auto& [dtype, heads] = GetParam();
  const std::vector<int32_t> past{0, 37, 128, 5, 201}, added{1, 1, 3, 40, 1};
  const int64_t capacity = 256, pair = heads.kv_heads * 2 * heads.head_dim;
  for (const int64_t window : {0, 60}) {
    const Call call{.offsets = offsets_of(added), .slots = {4, 0, 3, 1, 2}, .past = past, .window = window};
    OperationContext context({}, 3), single({}, 1);
    const Tensor cache = random(context, {5, capacity, pair}, dtype, 1);
    const Tensor cache_before = test::copy(context, cache);
    const Tensor qkv = random(context, {46, heads.kv_heads * (heads.queries + 2) * heads.head_dim}, dtype, 2);
    const Tensor together = decode(context, heads, qkv, call, cache);
    for (size_t s = 0; s < past.size(); ++s) {
      const Tensor moved = random(single, {2, capacity, pair}, dtype, 3);  // the slot's past, in another slot
      std::copy_n(cache_before.slice(call.slots[s], call.slots[s] + 1).raw(), moved.bytes() / 2,
                  moved.slice(1, 2).raw());
      const Call alone{.offsets = {0, added[s]}, .slots = {1}, .past = {past[s]}, .window = window};
      const Tensor part = qkv.slice(call.offsets[s], call.offsets[s + 1]);
      const Tensor out = decode(single, heads, part, alone, moved);
      EXPECT_TRUE(same_bits(out, together.slice(call.offsets[s], call.offsets[s + 1])))
          << "sequence " << s << ", window " << window;
      EXPECT_TRUE(same_bits(moved.slice(1, 2), cache.slice(call.slots[s], call.slots[s] + 1))) << "cache " << s;
    }
  }
}

TEST_P(AttentionWithCache, CrossSeesAllPositionsAndLeavesTheCache) {
  const auto& [dtype, heads] = GetParam();
  AttentionRun full({.heads = heads,
                     .query_offsets = offsets_of({1, 2, 1}),
                     .key_offsets = offsets_of({140, 0, 7}),
                     .cross = true,
                     .dtype = dtype});
  full.forward();
  OperationContext context({}, 2);
  const int64_t pair = heads.kv_heads * 2 * heads.head_dim;
  const Tensor cache = random(context, {3, 150, pair}, dtype, 9);
  std::copy_n(full.kv.slice(0, 140).raw(), full.kv.slice(0, 140).bytes(), cache.slice(2, 3).raw());
  std::copy_n(full.kv.slice(140, 147).raw(), full.kv.slice(140, 147).bytes(), cache.slice(0, 1).raw());
  const Tensor before = test::copy(context, cache), out = random(context, full.out.shape(), dtype, 5);
  cached_attention(context, {.q = full.q,
                             .heads = heads,
                             .query_offsets = share_offsets(context, offsets_of({1, 2, 1})),
                             .rows = share_cache_rows(context, {2, 2, 0}, {140, 0, 7}),
                             .scale = scale_of(heads),
                             .cache = cache,
                             .out = out});
  EXPECT_TRUE(test::close(out, full.out, dtype == DType::BF16 ? 1e-2 : dtype == DType::F32 ? 3e-6 : 1e-14));
  EXPECT_TRUE(same_bits(cache, before));
}

INSTANTIATE_TEST_SUITE_P(All, AttentionWithCache,
                         testing::Combine(testing::Values(DType::F32, DType::BF16, DType::F64),
                                          testing::Values(AttentionHeads{2, 1, 16}, AttentionHeads{2, 3, 8},
                                                          AttentionHeads{1, 1, 7}, AttentionHeads{1, 2, 64},
                                                          AttentionHeads{3, 1, 24}, AttentionHeads{1, 5, 128},
                                                          AttentionHeads{1, 1, 129}, AttentionHeads{1, 1, 200})),
                         [](const auto& i) {
                           const AttentionHeads h = std::get<1>(i.param);
                           return fmt::format("{}_{}x{}x{}", name(std::get<0>(i.param)), h.kv_heads, h.queries,
                                              h.head_dim);
                         });

TEST(CachedAttentionChecks, RunsDryAndNamesWhatDoesNotFit) {
  Context meta({DeviceKind::Meta, 0});
  const CachedAttention good{.qkv = meta.empty({3, 36}, DType::F32),
                             .heads = {2, 1, 6},
                             .query_offsets = share_offsets(meta, offsets_of({1, 2})),
                             .rows = share_cache_rows(meta, {1, 0}, {4, 7}),
                             .cache = meta.empty({2, 9, 24}, DType::F32),
                             .out = meta.empty({3, 12}, DType::F32)};
  cached_attention(meta, good);
  const double pairs = 5 + 8 + 9;  // positions that the three rows see
  EXPECT_EQ(meta.ledger().entries().at("cached_attention").flops, pairs * 12 * 4);
  const auto message = [&](auto&& change) -> std::string {
    CachedAttention args = good;
    change(args);
    try {
      cached_attention(meta, args);
    } catch (const InternalError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message([&](auto& a) {
              a.rows = share_cache_rows(meta, {1, 0}, {4, 8});
            }),
            "cached_attention: slot 0 with 8 + 2 positions does not fit the cache f32[2, 9, 24]");
  // A ring of 128: a window of 100 needs room for 99 and those that are appended.
  const auto in_ring = [&](int64_t window, int32_t appended) {
    return message([&](auto& a) {
      a.window = window, a.cache = meta.empty({1, 128, 24}, DType::F32);
      a.query_offsets = share_offsets(meta, offsets_of({appended}));
      a.rows = share_cache_rows(meta, {0}, {500});
      a.qkv = meta.empty({appended, 36}, DType::F32), a.out = meta.empty({appended, 12}, DType::F32);
    });
  };
  EXPECT_EQ(in_ring(100, 29), "accepted");
  EXPECT_EQ(in_ring(100, 30),
            "cached_attention: slot 0 with 500 + 30 positions does not fit the cache f32[1, 128, 24]");
  EXPECT_EQ(in_ring(0, 1), "cached_attention: slot 0 with 500 + 1 positions does not fit the cache f32[1, 128, 24]");
  EXPECT_EQ(message([](auto& a) { a.window = -1; }), "cached_attention: window -1");
  EXPECT_EQ(message([&](auto& a) {
              a.rows = share_cache_rows(meta, {2, 0}, {4, 7});
            }),
            "cached_attention: slot 2 with 4 + 1 positions does not fit the cache f32[2, 9, 24]");
  EXPECT_EQ(message([&](auto& a) { a.rows = share_cache_rows(meta, {0}, {4}); }),
            "cached_attention: 2 sequences, but 1 rows of the cache");
  EXPECT_EQ(error_of([&] { share_cache_rows(meta, {0}, {4, 7}); }), "1 cache slots, but 2 pasts");
  EXPECT_EQ(message([&](auto& a) {
              a.cache = meta.empty({18, 24}, DType::F32);
            }),
            "cached_attention: cache is f32[18, 24], expected [slots, capacity, columns]");
  EXPECT_EQ(message([&](auto& a) { a.q = a.out; }), "cached_attention: give qkv or q, not f32[3, 36] and f32[3, 12]");
}

}  // namespace
}  // namespace weft
