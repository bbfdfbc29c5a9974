// SPDX-License-Identifier: Apache-2.0
// Masked pairs are skipped, not multiplied by 0: 0 times an infinity is not 0.
#include <gtest/gtest.h>

#include "tests/kernels/fixture/attention_case.h"

namespace weft {
namespace {

using namespace test;

// Two causal sequences whose ends are not multiples of the CPU's blocks and tiles.
constexpr int32_t kLength = 100;

AttentionCase causal_case(const AttentionHeads& heads, DType dtype, int threads, int64_t window) {
  const std::vector<int32_t> offsets = offsets_of({kLength, 31});
  return {.heads = heads,
          .query_offsets = offsets,
          .key_offsets = offsets,
          .causal = true,
          .window = window,
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

// Whether columns [begin, end) of the given rows have the same bits and are finite. True for no columns.
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

class AttentionEdge : public testing::TestWithParam<std::tuple<DType, AttentionHeads, int, int64_t>> {
 protected:
  AttentionCase what() const {
    const auto& [dtype, heads, threads, window] = GetParam();
    return causal_case(heads, dtype, threads, window);
  }
  // Where the rows of the first sequence end that see a key, and where the keys begin that a row sees.
  int64_t end_of_rows(int64_t key) const { return window() > 0 ? std::min<int64_t>(kLength, key + window()) : kLength; }
  int64_t first_key(int64_t row) const { return window() > 0 ? std::max<int64_t>(0, row - window() + 1) : 0; }
  int64_t window() const { return std::get<3>(GetParam()); }
  int64_t group_width() const { return (std::get<1>(GetParam()).queries + 2) * std::get<1>(GetParam()).head_dim; }
  int64_t key_begin() const { return std::get<1>(GetParam()).queries * std::get<1>(GetParam()).head_dim; }
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Sizes around the CPU's blocks; for a simulated device, which is slow, around a CUDA device's blocks.
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
      // Poisons one row of the last group: either its value or its key.
      const int64_t group = run.qkv.columns() - group_width(), at = group + key_begin() + (value_too ? width : 0);
      poison(run.qkv, row, at, at + width, bad);
      run.forward(), run.backward();
      EXPECT_TRUE(same_rows(clean.out, run.out, 0, row, 0, wide)) << row;
      EXPECT_TRUE(same_rows(clean.out, run.out, end_of_rows(row), all, 0, wide)) << row;
      EXPECT_TRUE(same_rows(clean.dqkv, run.dqkv, 0, row, group, group + key_begin())) << row;
      EXPECT_TRUE(same_rows(clean.dqkv, run.dqkv, end_of_rows(row), kLength, group, group + key_begin())) << row;
      EXPECT_TRUE(same_rows(clean.dqkv, run.dqkv, kLength, all, 0, clean.dqkv.columns())) << row;
      EXPECT_FALSE(same_rows(clean.out, run.out, row, end_of_rows(row), 0, wide))
          << "a row that sees it must be non-finite: " << row;
      if (value_too) {
        EXPECT_TRUE(none_finite(run.out, row, end_of_rows(row), wide - std::get<1>(GetParam()).queries * width, wide))
            << row;
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
      poison(run.dout, row, run.dout.columns() - width, run.dout.columns(), bad);  // the last head
      run.forward(), run.backward();
      EXPECT_TRUE(same_rows(clean.dqkv, run.dqkv, row + 1, all, 0, wide)) << row;
      EXPECT_TRUE(same_rows(clean.dqkv, run.dqkv, 0, row, wide - group_width(), wide - 2 * width)) << row;
      EXPECT_TRUE(same_rows(clean.dqkv, run.dqkv, 0, first_key(row), 0, wide)) << row;
      EXPECT_FALSE(same_rows(clean.dqkv, run.dqkv, first_key(row), row + 1, wide - width, wide)) << row;
    }
    AttentionRun run(what());
    poison(run.qkv, row, wide - 3 * width, wide - 2 * width, kNan);  // the last query head
    run.forward(), run.backward();
    EXPECT_TRUE(same_rows(clean.dqkv, run.dqkv, row + 1, all, 0, wide)) << row;
    EXPECT_TRUE(same_rows(clean.dqkv, run.dqkv, 0, first_key(row), 0, wide)) << row;
  }
}

// Decoding: the mask limits which keys and values of the same call a row sees.
TEST_P(AttentionEdge, CachedRowsDoNotReadLaterOnes) {
  const auto& [dtype, heads, threads, window] = GetParam();
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
                               .window = window,
                               .cache = cache,
                               .out = out});
    return out;
  };
  const Tensor clean = decode(-1);
  for (const int64_t row : poisoned_rows()) {
    const Tensor out = decode(row);
    EXPECT_TRUE(same_rows(clean, out, 0, row, 0, clean.columns())) << row;
    EXPECT_TRUE(same_rows(clean, out, end_of_rows(row), kLength, 0, clean.columns())) << row;
    EXPECT_TRUE(
        none_finite(out, row, end_of_rows(row), clean.columns() - heads.queries * heads.head_dim, clean.columns()))
        << row;
  }
}

const auto kTypes = testing::Values(DType::F32, DType::BF16, DType::F64);
const auto name_of_edge = [](const auto& i) {
  const auto& [dtype, h, threads, window] = i.param;
  return fmt::format("{}_{}x{}x{}_threads{}", name(dtype), h.kv_heads, h.queries, h.head_dim, threads);
};
INSTANTIATE_TEST_SUITE_P(All, AttentionEdge,
                         testing::Combine(kTypes,
                                          testing::Values(AttentionHeads{2, 1, 16}, AttentionHeads{1, 3, 8},
                                                          AttentionHeads{2, 1, 7}),
                                          testing::Values(1, 4), testing::Values(0)),
                         name_of_edge);
INSTANTIATE_TEST_SUITE_P(Window, AttentionEdge,
                         testing::Combine(kTypes, testing::Values(AttentionHeads{1, 3, 8}), testing::Values(1, 4),
                                          testing::Values(30)),
                         name_of_edge);

// Without positions and mask, rows in another order give outputs in that order.
TEST(AttentionMask, WithoutPositionsIsPermutationEquivariant) {
  const AttentionCase c{
      .heads = {2, 2, 12}, .query_offsets = offsets_of({70}), .key_offsets = offsets_of({70}), .dtype = DType::F64};
  AttentionRun run(c);
  run.forward();
  const std::vector<double> before = values(run.out), rows = values(run.qkv);
  const int64_t width = run.qkv.size(1), wide = run.out.size(1);
  const auto moved = [](int64_t row) { return (row * 29 + 11) % 70; };
  for (int64_t r = 0; r < 70; ++r) {
    for (int64_t i = 0; i < width; ++i) run.qkv.data<double>()[moved(r) * width + i] = rows[r * width + i];
  }
  run.forward();
  for (int64_t r = 0; r < 70; ++r) {
    for (int64_t i = 0; i < wide; ++i) {
      ASSERT_NEAR(run.out.data<double>()[moved(r) * wide + i], before[r * wide + i], 1e-13);
    }
  }
}

// Under the causal mask the first row attends only to itself.
TEST(AttentionMask, FirstCausalRowSeesItselfAlone) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    AttentionRun run({.heads = {1, 1, 24},
                      .query_offsets = offsets_of({60, 1, 9}),
                      .key_offsets = offsets_of({60, 1, 9}),
                      .causal = true,
                      .dtype = dtype});
    run.forward();
    const std::vector<double> out = values(run.out), qkv = values(run.qkv);
    for (const int64_t row : {0, 60, 61}) {
      for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(out[row * 24 + i], qkv[row * 72 + 48 + i]);
    }
  }
}

// A masked weight is exactly 0. One row's value is so large that even a tiny weight would show, and changing it (and
// its key) must not change the bits of any row that does not see it.
TEST(AttentionMask, MaskedWeightsAreExactlyZeroInAThousandRandomCases) {
  const Philox philox(2024);
  const uint32_t trials = operations_on_cuda() ? 100 : 1000;  // a simulated device is slow
  for (uint32_t trial = 0; trial < trials; ++trial) {
    const Philox::Counter draw = philox({trial, 0, 0, 0}), more = philox({trial, 1, 0, 0});
    std::vector<int32_t> lengths;
    for (const uint32_t word : draw) lengths.push_back(static_cast<int32_t>(word % (trial % 10 == 0 ? 150 : 24)));
    const AttentionCase c{.heads = {1, 1 + (trial % 3 == 0), static_cast<int64_t>(1 + more[0] % 20)},
                          .query_offsets = offsets_of(lengths),
                          .key_offsets = offsets_of(lengths),
                          .causal = trial % 4 != 0,
                          .dtype = trial % 2 == 0 ? DType::F32 : DType::F64};
    AttentionRun run(c, trial);
    const int64_t rows = c.query_offsets.back();
    if (rows == 0) continue;
    run.forward();
    const std::vector<double> before = values(run.out);
    const int64_t poisoned = more[1] % rows, width = run.qkv.size(1), keys = c.heads.queries * c.heads.head_dim;
    size_t s = 0;
    while (c.query_offsets[s + 1] <= poisoned) ++s;
    with_float_type(c.dtype, [&]<class T>() {
      T* row = run.qkv.data<T>() + poisoned * width;
      for (int64_t i = keys; i < width; ++i) row[i] = static_cast<T>(1e30f);
    });
    run.forward();
    const std::vector<double> after = values(run.out);
    const int64_t wide = run.out.size(1);
    for (int64_t r = 0; r < rows; ++r) {
      const bool same_sequence = c.query_offsets[s] <= r && r < c.query_offsets[s + 1];
      const bool sees = same_sequence && (!c.causal || r >= poisoned);
      if (sees) continue;
      for (int64_t i = 0; i < wide; ++i) ASSERT_EQ(after[r * wide + i], before[r * wide + i]) << trial << " row " << r;
    }
  }
}

TEST(AttentionMask, QueriesWithoutKeysGiveZeroAndNoGradient) {
  AttentionRun run({.heads = {2, 1, 16},
                    .query_offsets = offsets_of({3, 4}),
                    .key_offsets = offsets_of({0, 5}),
                    .cross = true,
                    .dtype = DType::F32});
  run.forward();
  run.backward();
  const std::vector<double> out = values(run.out), dq = values(run.dq), log_sum = values(run.log_sum);
  for (size_t i = 0; i < 3 * 32; ++i) {
    EXPECT_EQ(out[i], 0);
    EXPECT_EQ(dq[i], 0);
  }
  EXPECT_EQ(log_sum[0], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isfinite(log_sum[3]));
}

TEST(AttentionMask, KeysWithoutQueriesGetZeroGradient) {
  AttentionRun run({.heads = {1, 1, 8},
                    .query_offsets = offsets_of({0, 2}),
                    .key_offsets = offsets_of({3, 2}),
                    .cross = true,
                    .dtype = DType::F64});
  run.forward();
  run.backward();
  const std::vector<double> dkv = values(run.dkv);
  for (size_t i = 0; i < 3 * 16; ++i) EXPECT_EQ(dkv[i], 0);
  EXPECT_NE(dkv[3 * 16], 0);
}

// Each column of a value has a sum of its own: one that is not finite spoils that column of the rows that see it, and
// one of dout that column of the values' gradients.
TEST(AttentionMask, AnElementThatIsNotFiniteReachesItsColumnAlone) {
  constexpr int64_t kWidth = 64, kRow = 5;
  const AttentionCase what{.heads = {1, 1, kWidth}, .query_offsets = {0, 70}, .key_offsets = {0, 70}, .causal = true};
  for (const DType dtype : {DType::F32, DType::BF16}) {
    for (const int64_t column : {0, 20, 63}) {
      AttentionCase c = what;
      c.dtype = dtype;
      AttentionRun value(c), gradient(c);
      poison(value.qkv, kRow, 2 * kWidth + column, 2 * kWidth + column + 1, kInfinity);
      value.forward();
      const std::vector<double> out = values(value.out);
      for (int64_t i = 0; i < 70 * kWidth; ++i) {
        EXPECT_EQ(std::isfinite(out[i]), i / kWidth < kRow || i % kWidth != column) << name(dtype) << " out " << i;
      }
      gradient.forward();
      poison(gradient.dout, kRow, column, column + 1, kInfinity);
      gradient.backward();
      const std::vector<double> dqkv = values(gradient.dqkv);
      for (int64_t i = 0; i < 70 * kWidth; ++i) {
        EXPECT_EQ(std::isfinite(dqkv[i / kWidth * 3 * kWidth + 2 * kWidth + i % kWidth]),
                  i / kWidth > kRow || i % kWidth != column)
            << name(dtype) << " dvalue " << i;
      }
    }
  }
}

}  // namespace
}  // namespace weft
