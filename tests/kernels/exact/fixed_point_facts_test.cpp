// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "kernels/formulas/fixed_point.h"
#include "tests/kernels/fixture/fixed_point.h"

namespace weft {
namespace {

using namespace test;

TEST(FixedPointFacts, SumsThatOverflowAreFlaggedAndNotCounted) {
  OperationContext context;
  for (const int64_t high : {int64_t{1} << 51, -(int64_t{1} << 51), int64_t{1} << 62, -(int64_t{1} << 51) + 1}) {
    Integers sums(context, 1);
    *sums.high.data<int64_t>() = high, *sums.low.data<int64_t>() = 0;
    const bool fits = std::abs(high) < int64_t{1} << 51;
    EXPECT_EQ(back(context, sums, 0), std::vector<float>{static_cast<float>(high)});
    EXPECT_EQ(sums.fact(kFactFlags), fits ? 0 : kFactOverflow);
    EXPECT_EQ(sums.fact(kFactSquaresHigh), fits ? int64_t{1} << 31 : 0);
    EXPECT_EQ(sums.fact(kFactGreatest), std::bit_cast<int32_t>(std::abs(static_cast<float>(high))));
  }
}

TEST(FixedPointFacts, HaveTheSquaresOfF64AndTheGreatestOfAllElements) {
  OperationContext context;
  for (const int64_t n : {1, 129, 30011}) {
    const std::vector<float> x = gradients(n, 6, 6);
    double expected = 0;
    float greatest = 0;
    for (const float v : x) expected += static_cast<double>(v) * v, greatest = std::max(greatest, std::abs(v));
    const Integers made = fixed(context, x);
    back(context, made);
    const double units =
        static_cast<double>(made.fact(kFactSquaresHigh)) + static_cast<double>(made.fact(kFactSquaresLow)) * 0x1p-31;
    EXPECT_NEAR(std::ldexp(units, kSquareUnitBits - 2 * kExponent), expected, 0x1p-21 * expected);
    EXPECT_EQ(made.fact(kFactGreatest), std::bit_cast<int32_t>(greatest));
    const int64_t before = made.fact(kFactSquaresLow);
    back(context, made);
    EXPECT_EQ(made.fact(kFactSquaresLow), 2 * before) << "squares are added";
  }
}

TEST(FixedPointFacts, SquaresThatAreNotCountedAreLeftOut) {
  OperationContext context;
  const std::vector<float> x = gradients(129, 7, 6);
  const Integers made = fixed(context, x), counted = fixed(context, x);
  EXPECT_EQ(back(context, made, kExponent, false), back(context, counted));
  EXPECT_EQ(made.fact(kFactSquaresHigh) | made.fact(kFactSquaresLow), 0);
  EXPECT_EQ(made.fact(kFactGreatest), counted.fact(kFactGreatest));
  EXPECT_NE(counted.fact(kFactSquaresHigh), 0);
}

// Cuts at odd places, which no vector divides, and an empty piece.
// The integers of a share may begin at an odd place beside floats that begin at an even one.
TEST(FixedPointFacts, AreTheSameWhereverIntegersBegin) {
  constexpr int64_t kFew = 4099;
  OperationContext context;
  const Tensor exponent = integers(context, {kExponent}), out = context.empty({kFew}, DType::F32);
  const std::vector<float> x = gradients(kFew, 9, 30);
  const Integers even = fixed(context, x), odd(context, kFew + 1);
  const std::vector<float> expected = back(context, even);
  const Tensor high = odd.high.slice(1, kFew + 1), low = odd.low.slice(1, kFew + 1);
  to_fixed_point(context, {floats(context, x), exponent, high, low, odd.facts});
  from_fixed_point(context, {high, low, exponent, out, odd.facts});
  EXPECT_TRUE(same_bits(high, even.high));
  EXPECT_TRUE(same_bits(low, even.low));
  EXPECT_TRUE(same_bits(odd.facts, even.facts));
  EXPECT_TRUE(same_bits(out, floats(context, expected)));
}

TEST(FixedPointFacts, AddUpOverAnyCut) {
  constexpr int64_t kMany = 20011;
  OperationContext context;
  const Tensor exponent = integers(context, {kExponent});
  for (const bool with_low : {false, true}) {
    std::vector<float> x = gradients(kMany, 8, 30);
    x[17] = std::numeric_limits<float>::infinity(), x[kMany - 1] = 0x1p40f;
    const Tensor from = floats(context, x), out = context.empty({kMany}, DType::F32);
    const Integers whole = fixed(context, x, kExponent, with_low), cut(context, kMany, with_low);
    const std::vector<float> expected = back(context, whole);
    const std::array<int64_t, 8> ends = {0, 1, 1, 4, 11, 4110, 12303, kMany};
    for (size_t p = 0; p + 1 < ends.size(); ++p) {
      const auto part = [&](const Tensor& t) { return t ? t.slice(ends[p], ends[p + 1]) : t; };
      to_fixed_point(context, {part(from), exponent, part(cut.high), part(cut.low), cut.facts});
      from_fixed_point(context, {part(cut.high), part(cut.low), exponent, part(out), cut.facts});
    }
    EXPECT_TRUE(same_bits(cut.high, whole.high));
    if (with_low) {
      EXPECT_TRUE(same_bits(cut.low, whole.low));
    }
    EXPECT_TRUE(same_bits(cut.facts, whole.facts));
    EXPECT_TRUE(same_bits(out, floats(context, expected)));
    EXPECT_EQ(whole.fact(kFactFlags), kFactOverflow | kFactNonFinite);
  }
}

TEST(FixedPointFacts, DoNotDependOnThreads) {
  constexpr int64_t kMany = 100003;
  OperationContext one({}, 1), three({}, 3);
  const std::vector<float> x = gradients(kMany, 9, 60);
  const Integers a = fixed(one, x), b = fixed(three, x);
  EXPECT_EQ(back(one, a), back(three, b));
  EXPECT_TRUE(same_bits(a.high, b.high));
  EXPECT_TRUE(same_bits(a.low, b.low));
  EXPECT_TRUE(same_bits(a.facts, b.facts));
}

// Bit for bit: vectors, fused products and a device's own conversions change nothing.
TEST(FixedPointFacts, AndIntegersAreThoseOfTheFormulaOnEveryDevice) {
  constexpr int64_t kMany = 9001;
  OperationContext context;
  const std::vector<float> x = gradients(kMany, 12, 120);
  const Integers made = fixed(context, x);
  std::vector<int64_t> high, low;
  std::vector<float> out(kMany);
  std::array<int64_t, kFixedPointFacts> facts{};
  for (const float v : x) {
    const auto point = formulas::fixed_point<true>(v, std::ldexp(1.0, kExponent));
    high.push_back(point.high), low.push_back(point.low);
    const auto known = formulas::from_fixed_point<true, true>(point.high, point.low, std::ldexp(1.0, -kExponent),
                                                              out[high.size() - 1]);
    facts[kFactSquaresHigh] += known.squares_high, facts[kFactSquaresLow] += known.squares_low;
    facts[kFactGreatest] = std::max<int64_t>(facts[kFactGreatest], known.size);
  }
  EXPECT_TRUE(std::equal(high.begin(), high.end(), made.high.data<int64_t>()));
  EXPECT_TRUE(std::equal(low.begin(), low.end(), made.low.data<int64_t>()));
  EXPECT_EQ(back(context, made), out);
  EXPECT_TRUE(std::equal(facts.begin(), facts.end(), made.facts.data<int64_t>()));
}

TEST(FixedPointFacts, MisfitsAreNamedAndDryRunsCount) {
  OperationContext context, dry(Device{DeviceKind::Meta});
  const auto make = [&](Context& of, int64_t n) {
    return ToFixedPoint{.x = of.empty({n}, DType::F32),
                        .exponent = of.empty({1}, DType::I32),
                        .high = of.empty({n}, DType::I64),
                        .low = of.empty({n}, DType::I64),
                        .facts = of.empty({kFixedPointFacts}, DType::I64)};
  };
  const auto error = [&](auto&& change) {
    ToFixedPoint args = make(context, 4);
    change(args);
    return error_of([&] { to_fixed_point(context, args); });
  };
  const Tensor rounded = context.empty({4}, DType::BF16), long_one = context.empty({5}, DType::I64);
  EXPECT_EQ(error([&](auto& a) { a.x = rounded; }), "to_fixed_point: x is bf16[4], expected 4 elements of f32");
  EXPECT_EQ(error([&](auto& a) { a.high = long_one; }), "to_fixed_point: high is i64[5], expected 4 elements of i64");
  EXPECT_EQ(error([&](auto& a) { a.high = {}; }), "to_fixed_point: high is absent");
  EXPECT_EQ(error([&](auto& a) { a.low = a.x; }), "to_fixed_point: low is f32[4], expected 4 elements of i64");
  EXPECT_EQ(error([&](auto& a) { a.exponent = long_one; }),
            "to_fixed_point: exponent is i64[5], expected 1 elements of i32");
  EXPECT_EQ(error([&](auto& a) { a.facts = long_one; }), "to_fixed_point: facts is i64[5], expected 4 elements of i64");
  EXPECT_EQ(error_of([&] {
              from_fixed_point(context, {.high = long_one, .exponent = integers(context, {0}), .out = rounded});
            }),
            "from_fixed_point: out is bf16[4], expected 4 elements of f32");

  ToFixedPoint args = make(dry, 1000);
  const auto bytes = [&](const char* operation) { return dry.ledger().entries().at(operation).bytes; };
  to_fixed_point(dry, args);
  EXPECT_EQ(bytes("to_fixed_point"), 1000 * (4 + 8 + 8));
  from_fixed_point(dry, {args.high, args.low, args.exponent, args.x, args.facts});
  EXPECT_EQ(bytes("from_fixed_point"), 1000 * (8 + 8 + 4));
  args.low = {}, args.mode = Accumulate::Add;
  to_fixed_point(dry, args);
  EXPECT_EQ(bytes("to_fixed_point"), 1000 * (4 + 8 + 8) + 1000 * (4 + 2 * 8));
}

}  // namespace
}  // namespace weft
