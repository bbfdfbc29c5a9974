// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/elementwise.h"

#include <limits>

#include "kernels/ops/reduction.h"
#include "tests/kernels/fixture/check.h"

namespace weft {
namespace {

using namespace test;

const std::vector<DType> kFloats{DType::F32, DType::BF16, DType::F64};

TEST(Elementwise, FillsAndAdds) {
  for (const int threads : {1, 2}) {
    OperationContext context({}, threads);
    for (const int64_t n : {1, 7, 129, 70001}) {
      for (const DType dtype : kFloats) {
        const Tensor x = random(context, {n}, dtype, 1), y = random(context, {n}, dtype, 2);
        const std::vector<double> a = values(x), b = values(y);
        add_scaled(context, x, 0.5, y);
        for (int64_t i = 0; i < n; ++i) {
          EXPECT_NEAR(values(y)[i], b[i] + 0.5 * a[i], 0.01 * (dtype == DType::BF16) + 1e-6) << name(dtype);
          if (n > 200) i += 997;
        }
        fill(context, x, 3);
        EXPECT_EQ(values(x), std::vector<double>(static_cast<size_t>(n), 3.0));
      }
    }
  }
}

// bf16 added to f32 from any offset of a buffer: the sum is not rounded to bf16.
TEST(Elementwise, AddsBf16ToF32) {
  OperationContext context;
  for (const int64_t n : {1, 7, 129, 4097}) {
    for (const int64_t begin : {0, 1, 8}) {
      const Tensor x = random(context, {n + 8}, DType::BF16, 1), y = random(context, {n + 8}, DType::F32, 2);
      const std::vector<double> a = values(x), before = values(y);
      add_scaled(context, x.slice(begin, begin + n), 1, y.slice(begin, begin + n));
      const std::vector<double> after = values(y);
      for (int64_t i = 0; i < n + 8; ++i) {
        const auto at = static_cast<size_t>(i);
        const bool added = i >= begin && i < begin + n;
        EXPECT_EQ(after[at], added ? static_cast<float>(before[at]) + static_cast<float>(a[at]) : before[at]) << i;
      }
    }
  }
}

TEST(Elementwise, FillsIntegers) {
  OperationContext context;
  const Tensor a = context.empty({3}, DType::I32), b = context.empty({2}, DType::I64);
  fill(context, a, -7), fill(context, b, 1 << 20);
  EXPECT_EQ(a.span<int32_t>()[2], -7);
  EXPECT_EQ(b.span<int64_t>()[1], 1 << 20);
}

TEST(Elementwise, ConversionRoundsToNearestEvenAndKeepsSpecials) {
  OperationContext context;
  const float inf = std::numeric_limits<float>::infinity();
  // 1 + 2^-8 lies half-way between two bf16 numbers (even below); 1 + 3 * 2^-8 as well (even above).
  const std::vector<float> in{1, 1 + 0x1p-8f, 1 + 3 * 0x1p-8f, 1 + 0x1p-8f + 0x1p-20f, inf, -inf, 3.4e38f, -0.0f};
  const std::vector<float> expected{1, 1, 1 + 0x1p-6f, 1 + 0x1p-7f, inf, -inf, inf, -0.0f};
  const Tensor x = context.empty({static_cast<int64_t>(in.size())}, DType::F32);
  std::copy(in.begin(), in.end(), x.data<float>());
  const Tensor back = copy_as(context, copy_as(context, x, DType::BF16), DType::F32);
  for (size_t i = 0; i < in.size(); ++i) EXPECT_EQ(back.data<float>()[i], expected[i]) << in[i];
  EXPECT_TRUE(std::signbit(back.data<float>()[7]));
  const Tensor nan = constant(context, {40}, DType::F32, std::nan(""));
  for (const double v : values(copy_as(context, nan, DType::BF16))) EXPECT_TRUE(std::isnan(v));
}

// Conversions between the dtypes that models compute in, from and to any offset of a buffer.
TEST(Elementwise, ConversionsBeginAnywhere) {
  OperationContext context;
  for (const int64_t n : {1, 7, 129, 4097}) {
    for (const int64_t begin : {0, 1, 4, 8}) {
      const Tensor exact = random(context, {n + 8}, DType::F32, 3), rounded = copy_as(context, exact, DType::BF16);
      const Tensor to = constant(context, {n + 16}, DType::BF16, 5), back = constant(context, {n + 16}, DType::F32, 5);
      convert(context, exact.slice(begin, begin + n), to.slice(8 - begin, 8 - begin + n));
      EXPECT_TRUE(same_bits(to.slice(8 - begin, 8 - begin + n), rounded.slice(begin, begin + n))) << n << " " << begin;
      convert(context, rounded.slice(begin, begin + n), back.slice(begin, begin + n));
      const std::vector<double> expected = values(rounded.slice(begin, begin + n)), all = values(back);
      EXPECT_EQ(values(back.slice(begin, begin + n)), expected);
      for (size_t i = 0; i < all.size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        if (at < begin || at >= begin + n) {
          EXPECT_EQ(all[i], 5) << "beside it: " << i;
        }
      }
    }
  }
}

TEST(Elementwise, FillsFromAnywhere) {
  OperationContext context;
  for (const DType dtype : kFloats) {
    for (const int64_t begin : {0, 1, 3}) {
      const Tensor t = constant(context, {100}, dtype, 1);
      fill(context, t.slice(begin, 90), 2);
      const std::vector<double> all = values(t);
      for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i >= begin && i < 90 ? 2 : 1) << i;
    }
  }
}

TEST(Elementwise, ConvertCopiesAnyEqualDtype) {
  OperationContext context;
  const Tensor from = integers(context, {1, 2, 3}), to = context.empty({3}, DType::I32);
  convert(context, from, to);
  EXPECT_TRUE(same_bits(from, to));
  EXPECT_EQ(error_of([&] { convert(context, from, context.empty({3}, DType::F32)); }),
            "convert: from i32[3] needs a floating dtype");
  EXPECT_EQ(error_of([&] { convert(context, from, context.empty({4}, DType::I32)); }), "convert: i32[3] to i32[4]");
}

TEST(Elementwise, GatherRows) {
  OperationContext context;
  const Tensor from = random(context, {5, 3}, DType::BF16, 1), to = context.empty({4, 3}, DType::BF16);
  gather_rows(context, from, integers(context, {4, 0, 0, 2}), to);
  EXPECT_TRUE(same_bits(to.slice(0, 1), from.slice(4, 5)));
  EXPECT_TRUE(same_bits(to.slice(2, 3), from.slice(0, 1)));
}

TEST(HostOnly, GatherRowsChecksItsIndices) {
  OperationContext context;
  const Tensor from = random(context, {5, 3}, DType::BF16, 1), to = context.empty({4, 3}, DType::BF16);
  EXPECT_EQ(error_of([&] {
              gather_rows(context, from, integers(context, {0, 5, 0, 0}), to);
            }),
            "gather_rows: index 5 of 5 rows");
  EXPECT_EQ(error_of([&] { gather_rows(context, from, integers(context, {0}), to); }),
            "gather_rows: to is bf16[4, 3], expected bf16[1, 3]");
}

TEST(Elementwise, GathersRowsOfAnySize) {
  OperationContext context;
  for (const int64_t width : {1, 7, 8, 40, 4000}) {
    for (const DType dtype : {DType::BF16, DType::F32, DType::F64}) {
      const Tensor from = random(context, {5, width}, dtype, 1), to = context.empty({3, width}, dtype);
      gather_rows(context, from, integers(context, {4, 1, 1}), to);
      EXPECT_TRUE(same_bits(to.slice(0, 1), from.slice(4, 5)));
      EXPECT_TRUE(same_bits(to.slice(2, 3), from.slice(1, 2)));
    }
  }
}

TEST(Elementwise, JoinsColumnsAndLeavesPaddingOut) {
  OperationContext context;
  for (const auto& [part_columns, columns] :
       {std::pair<int64_t, int64_t>{1, 3}, {7, 20}, {16, 48}, {16, 40}, {2000, 6000}}) {
    for (const DType dtype : {DType::BF16, DType::F32, DType::I32}) {
      constexpr int64_t kRows = 5;
      const Tensor parts = context.empty({3, kRows, part_columns}, dtype), to = context.empty({kRows, columns}, dtype);
      const size_t size = size_of(dtype);
      for (size_t i = 0; i < parts.bytes(); ++i) parts.raw()[i] = static_cast<std::byte>(i * 37 >> 2);
      join_columns(context, parts, to);
      for (int64_t r = 0; r < kRows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          const int64_t at = (c / part_columns * kRows + r) * part_columns + c % part_columns;
          EXPECT_TRUE(std::equal(to.raw() + static_cast<size_t>(r * columns + c) * size,
                                 to.raw() + static_cast<size_t>(r * columns + c + 1) * size,
                                 parts.raw() + static_cast<size_t>(at) * size))
              << r << " " << c;
        }
      }
    }
  }
}

// Adds a row of the parameters' dtype to rows of the compute dtype, and the reverse.
TEST(Elementwise, AddsARowOfAnotherDtype) {
  OperationContext context;
  for (const int64_t columns : {7, 40, 4000}) {
    for (const auto& [row_dtype, dtype] : {std::pair{DType::F32, DType::BF16}, {DType::BF16, DType::F32}}) {
      const Tensor row = random(context, {columns}, row_dtype, 1), y = random(context, {3, columns}, dtype, 2);
      const std::vector<double> before = values(y), added = values(row);
      add_row(context, row, y);
      const std::vector<double> after = values(y);
      for (size_t i = 0; i < after.size(); ++i) {
        const double expected = before[i] + added[i % static_cast<size_t>(columns)];
        EXPECT_NEAR(after[i], expected, dtype == DType::BF16 ? one_rounding(expected) : 1e-6) << i;
      }
    }
  }
}

TEST(Elementwise, RowsAreAddedAndSummed) {
  for (const int threads : {1, 2}) {
    OperationContext context({}, threads);
    for (const int64_t rows : {1, 7, 129}) {
      for (const DType dtype : kFloats) {
        const int64_t columns = 33;
        const Tensor x = random(context, {rows, columns}, dtype, 1), y = copy(context, x);
        const Tensor row = random(context, {columns}, dtype, 2);
        add_row(context, row, y);
        const Tensor sums = context.empty({columns}, accumulator_of(dtype)),
                     again = context.empty({columns}, sums.dtype());
        sum_rows(context, x, sums, Accumulate::Overwrite);
        sum_rows(context, x, again, Accumulate::Overwrite);
        EXPECT_TRUE(same_bits(sums, again));
        sum_rows(context, x, again, Accumulate::Add);
        const std::vector<double> a = values(x), b = values(row), z = values(y), s = values(sums), t = values(again);
        for (int64_t c = 0; c < columns; ++c) {
          double sum = 0;
          for (int64_t r = 0; r < rows; ++r) {
            sum += a[r * columns + c];
            EXPECT_NEAR(z[r * columns + c], a[r * columns + c] + b[c], dtype == DType::BF16 ? 0.02 : 1e-6);
          }
          EXPECT_NEAR(s[c], sum, 1e-4);
          EXPECT_NEAR(t[c], 2 * sum, 2e-4);
        }
      }
    }
  }
}

TEST(Elementwise, SumAllDoesNotDependOnThreads) {
  OperationContext one({}, 1), two({}, 2);
  for (const int64_t n : {0, 1, 129, 200003}) {
    const Tensor x = random(one, {n}, DType::BF16, 5), a = one.empty({1}, DType::F64), b = two.empty({1}, DType::F64);
    sum_all(one, x, a);
    sum_all(two, x, b);
    double expected = 0;
    for (const double v : values(x)) expected += v;
    EXPECT_TRUE(same_bits(a, b));
    EXPECT_NEAR(*a.data<double>(), expected, 1e-8);
    sum_all(one, x, a, Accumulate::Add);
    EXPECT_NEAR(*a.data<double>(), 2 * expected, 1e-8);
  }
}

TEST(Elementwise, MisfitsAreNamedAndDryRunsCount) {
  OperationContext context, dry(Device{DeviceKind::Meta});
  const Tensor x = context.zeros({3}, DType::F32), y = context.zeros({4}, DType::F32);
  EXPECT_EQ(error_of([&] { add_scaled(context, x, 1, y); }), "add_scaled: x is f32[3], expected 4 elements of f32");
  EXPECT_EQ(error_of([&] { add_scaled(context, y, 1, context.zeros({4}, DType::BF16)); }),
            "add_scaled: x is f32[4], expected 4 elements of bf16");
  EXPECT_EQ(error_of([&] { add_row(context, x, y); }), "add_row: row f32[3] to each row of f32[4]");
  EXPECT_EQ(error_of([&] { fill(context, Tensor{}, 0); }), "fill: t is absent");
  EXPECT_EQ(error_of([&] { sum_all(context, x, y); }), "sum_all: out is f32[4], expected 1 elements of f64");
  const Tensor t = dry.empty({10, 10}, DType::F32);
  fill(dry, t, 1), convert(dry, t, t), add_scaled(dry, t, 1, t);
  add_row(dry, dry.empty({10}, DType::F32), t), sum_rows(dry, t, dry.empty({10}, DType::F32), Accumulate::Add);
  gather_rows(dry, t, dry.empty({10}, DType::I32), t), sum_all(dry, t, dry.empty({1}, DType::F64));
  EXPECT_EQ(dry.ledger().entries().size(), 7U);
  EXPECT_EQ(dry.ledger().entries().at("convert").bytes, 800);
}

}  // namespace
}  // namespace weft
