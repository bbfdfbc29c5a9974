// SPDX-License-Identifier: Apache-2.0
// What lies behind the mask is not multiplied by 0 but left out: 0 times an infinity is not 0.
#include <gtest/gtest.h>

#include "tests/kernels/attention_case.h"

namespace weft {
namespace {

using namespace test;

// Two causal sequences that end off the blocks and tiles of the CPU's code.
constexpr int32_t kLength = 100;

AttentionCase causal_case(const AttentionHeads& heads, DType dtype, int threads) {
  const std::vector<int32_t> offsets = offsets_of({kLength, 31});
  return {.heads = heads,
          .query_offsets = offsets,
          .key_offsets = offsets,
          .causal = true,
          .dropout = threads > 1 ? 0.2 : 0,
          .dtype = dtype,
          .threads = threads};
}

void poison(const Tensor& t, int64_t row, int64_t begin, int64_t end, double value) {
  with_float_type(t.dtype(), [&]<class T>() {
    for (int64_t c = begin; c < end; ++c)
      t.data<T>()[row * t.columns() + c] = static_cast<T>(static_cast<float>(value));
  });
}

// Whether columns [begin, end) of the given rows have the same bits and are finite. Empty: yes.
testing::AssertionResult same_rows(const Tensor& a, const Tensor& b, int64_t first, int64_t last, int64_t begin,
                                   int64_t end) {
  const std::vector<double> left = values(a), right = values(b);
  for (int64_t r = first; r < last; ++r) {
    for (int64_t c = begin; c < end; ++c) {
      const double x = left[r * a.columns() + c], y = right[r * b.columns() + c];
      if (std::isfinite(x) && x == y) continue;
      return testing::AssertionFailure() << "[" << r << ", " << c << "] is " << y << ", was " << x;
    }
  }
  return testing::AssertionSuccess();
}

// Whether no element of columns [begin, end) of the given rows is finite.
bool none_finite(const Tensor& t, int64_t first, int64_t last, int64_t begin, int64_t end) {
  const std::vector<double> all = values(t);
  for (int64_t r = first; r < last; ++r) {
    for (int64_t c = begin; c < end; ++c) {
      if (std::isfinite(all[r * t.columns() + c])) return false;
    }
  }
  return true;
}

class AttentionEdge : public testing::TestWithParam<std::tuple<DType, AttentionHeads, int>> {
 protected:
  AttentionCase what() const {
    const auto& [dtype, heads, threads] = GetParam();
    return causal_case(heads, dtype, threads);
  }
  int64_t group_width() const { return (std::get<1>(GetParam()).queries + 2) * std::get<1>(GetParam()).head_dim; }
  int64_t key_begin() const { return std::get<1>(GetParam()).queries * std::get<1>(GetParam()).head_dim; }
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Around the blocks of the CPU's code and, for a simulated device, which takes its time, those of a CUDA device's.
std::vector<int64_t> poisoned_rows() {
  if (operations_on_cuda()) return {20, 63, 64, kLength - 1};
  return {1, 20, 47, 48, 63, 64, 70, kLength - 1};
}

// A key or value that is not finite reaches no output of a row that does not see it, and no query gradient of such a
// row.
TEST_P(AttentionEdge, AKeyOrValueBehindTheMaskIsNotRead) {
  AttentionRun clean(what());
  clean.forward(), clean.backward();
  const int64_t all = clean.out.rows(), wide = clean.out.columns(), width = std::get<1>(GetParam()).head_dim;
  for (const int64_t row : poisoned_rows()) {
    for (const auto& [bad, value_too] :
         {std::pair{kNan, true}, {kInfinity, true}, {kNan, false}, {-kInfinity, false}}) {
      AttentionRun run(what());
      // Of the last group: its value alone, or its key alone.
      const int64_t group = run.qkv.columns() - group_width(), at = group + key_begin() + (value_too ? width : 0);
      poison(run.qkv, row, at, at + width, bad);
      run.forward(), run.backward();
      EXPECT_TRUE(same_rows(clean.out, run.out, 0, row, 0, wide)) << row;
      EXPECT_TRUE(same_rows(clean.out, run.out, kLength, all, 0, wide)) << row;
      EXPECT_TRUE(same_rows(clean.dqkv, run.dqkv, 0, row, group, group + key_begin())) << row;
      EXPECT_TRUE(same_rows(clean.dqkv, run.dqkv, kLength, all, 0, clean.dqkv.columns())) << row;
      EXPECT_FALSE(same_rows(clean.out, run.out, row, kLength, 0, wide)) << "what sees it must show it, " << row;
      if (value_too) {
        EXPECT_TRUE(none_finite(run.out, row, kLength, wide - std::get<1>(GetParam()).queries * width, wide)) << row;
      }
    }
  }
}

// An output gradient or a query that is not finite reaches the gradients of the keys that its row sees, and no others.
TEST_P(AttentionEdge, KeysOutsideARowsWindowGetNoGradientFromTheRow) {
  AttentionRun clean(what());
  clean.forward(), clean.backward();
  const int64_t all = clean.out.rows(), wide = clean.dqkv.columns(), width = std::get<1>(GetParam()).head_dim;
  for (const int64_t row : poisoned_rows()) {
    for (const double bad : {kNan, kInfinity}) {
      AttentionRun run(what());
      poison(run.dout, row, run.dout.columns() - width, run.dout.columns(), bad);  // of the last head
      run.forward(), run.backward();
      EXPECT_TRUE(same_rows(clean.dqkv, run.dqkv, row + 1, all, 0, wide)) << row;
      EXPECT_TRUE(same_rows(clean.dqkv, run.dqkv, 0, row, wide - group_width(), wide - 2 * width)) << row;
      EXPECT_FALSE(same_rows(clean.dqkv, run.dqkv, 0, row + 1, wide - width, wide)) << row;
    }
    AttentionRun run(what());
    poison(run.qkv, row, wide - 3 * width, wide - 2 * width, kNan);  // the last query head
    run.forward(), run.backward();
    EXPECT_TRUE(same_rows(clean.dqkv, run.dqkv, row + 1, all, 0, wide)) << row;
  }
}

// Decoding: rows of one call see one another's keys and values only as far as the mask says.
TEST_P(AttentionEdge, CachedRowsDoNotReadLaterOnes) {
  const auto& [dtype, heads, threads] = GetParam();
  OperationContext context({}, threads);
  const auto decode = [&](int64_t bad_row) {
    const Tensor qkv = random(context, {kLength, heads.kv_heads * group_width()}, dtype, 3);
    if (bad_row >= 0) poison(qkv, bad_row, qkv.columns() - heads.head_dim, qkv.columns(), kNan);
    const Tensor out = context.empty({kLength, heads.heads() * heads.head_dim}, dtype);
    const Tensor cache = random(context, {1, 7 + kLength, heads.kv_heads * 2 * heads.head_dim}, dtype, 4);
    cached_attention(context, {.qkv = qkv,
                               .heads = heads,
                               .query_offsets = share_offsets(context, offsets_of({kLength})),
                               .rows = share_cache_rows(context, {0}, {7}),
                               .cache = cache,
                               .out = out});
    return out;
  };
  const Tensor clean = decode(-1);
  for (const int64_t row : poisoned_rows()) {
    const Tensor out = decode(row);
    EXPECT_TRUE(same_rows(clean, out, 0, row, 0, clean.columns())) << row;
    EXPECT_TRUE(none_finite(out, row, kLength, clean.columns() - heads.queries * heads.head_dim, clean.columns()))
        << row;
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionEdge,
                         testing::Combine(testing::Values(DType::F32, DType::BF16, DType::F64),
                                          testing::Values(AttentionHeads{2, 1, 16}, AttentionHeads{1, 3, 8},
                                                          AttentionHeads{2, 1, 7}),
                                          testing::Values(1, 4)),
                         [](const auto& i) {
                           const AttentionHeads h = std::get<1>(i.param);
                           return fmt::format("{}_{}x{}x{}_threads{}", name(std::get<0>(i.param)), h.kv_heads,
                                              h.queries, h.head_dim, std::get<2>(i.param));
                         });

}  // namespace
}  // namespace weft
