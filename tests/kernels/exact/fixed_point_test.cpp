// SPDX-License-Identifier: Apache-2.0
#include "kernels/formulas/fixed_point.h"

#include <array>

#include "tests/kernels/fixture/fixed_point.h"

namespace weft {
namespace {

using namespace test;

// As collectives add integers.
void add_to(const Tensor& from, const Tensor& to) {
  for (int64_t i = 0; i < to.elements(); ++i) to.data<int64_t>()[i] += from.data<int64_t>()[i];
}

TEST(FixedPoint, IsTheNearestInteger) {
  OperationContext context;
  for (const int64_t n : {0, 1, 7, 129, 5003}) {
    const std::vector<float> x = gradients(n, 1, 110);
    const Integers both = fixed(context, x), rounded = fixed(context, x, kExponent, false);
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(both.at(i), exact(x[i], kExponent)) << x[i];
      ASSERT_LE(std::abs(both.low.data<int64_t>()[i]), int64_t{1} << 51) << x[i];
      const auto nearest = std::rint(std::ldexp(static_cast<long double>(x[i]), kExponent));
      ASSERT_EQ(rounded.high.data<int64_t>()[i], static_cast<int64_t>(nearest)) << x[i];
    }
    EXPECT_EQ(both.fact(kFactFlags), 0);
  }
}

TEST(FixedPoint, HalvesAreExactWithALowPartAndRoundToEvenWithout) {
  OperationContext context;
  const std::vector<float> x = {0.5f, -0.5f, 1.5f, -1.5f, 2.5f, -2.5f};
  const Integers both = fixed(context, x, 0), rounded = fixed(context, x, 0, false);
  const std::vector<int64_t> even = {0, 0, 2, -2, 2, -2};
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(both.at(i), exact(x[i], 0));
    EXPECT_LT(both.low.data<int64_t>()[i], int64_t{1} << 51);
    EXPECT_EQ(rounded.high.data<int64_t>()[i], even[i]);
  }
}

TEST(FixedPoint, SumsDoNotDependOnTheOrderAndGroupingOfTheirTerms) {
  constexpr int64_t kMany = 1003, kTerms = 24;
  OperationContext context;
  std::vector<std::vector<float>> terms;
  for (int64_t t = 0; t < kTerms; ++t) terms.push_back(gradients(kMany, 10 + t, 90));
  for (const bool with_low : {false, true}) {
    const Integers forwards = fixed(context, terms.front(), kExponent, with_low),
                   backwards = fixed(context, terms.back(), kExponent, with_low);
    for (int64_t t = 1; t < kTerms; ++t)
      add(context, terms[t], forwards), add(context, terms[kTerms - 1 - t], backwards);
    // Every third term, in sums of their own.
    std::vector<Integers> groups;
    for (int64_t g = 0; g < 3; ++g) {
      groups.push_back(fixed(context, terms[g], kExponent, with_low));
      for (int64_t t = g + 3; t < kTerms; t += 3) add(context, terms[t], groups[g]);
    }
    for (const int64_t g : {2, 0}) {
      add_to(groups[g].high, groups[1].high);
      if (with_low) add_to(groups[g].low, groups[1].low);
    }
    for (const Integers& other : {backwards, groups[1]}) {
      EXPECT_TRUE(same_bits(forwards.high, other.high));
      if (with_low) {
        EXPECT_TRUE(same_bits(forwards.low, other.low));
      }
    }
    for (int64_t i = 0; with_low && i < kMany; ++i) {
      Wide sum = 0;
      for (const auto& term : terms) sum += exact(term[i], kExponent);
      ASSERT_EQ(forwards.at(i), sum) << i;
    }
    EXPECT_EQ(back(context, forwards), back(context, groups[1]));
  }
}

TEST(FixedPoint, FourThousandTermsFit) {
  OperationContext context;
  const float greatest = std::nextafter(0x1p51f, 0.0f);
  const std::vector<float> x = {greatest, -greatest, 0.5f, -0.5f, 1.5f, 0x1.fffffep-2f, -0x1.fffffep-2f};
  const Integers sums = fixed(context, x, 0);
  int64_t terms = 1;
  for (; terms < kMostFixedPointTerms; terms *= 2) {
    for (const Tensor& part : {sums.high, sums.low}) add_to(part, part);
  }
  EXPECT_EQ(terms, kMostFixedPointTerms);
  EXPECT_EQ(sums.fact(kFactFlags), 0);
  for (int64_t i = 0; i < sums.high.elements(); ++i) EXPECT_EQ(sums.at(i), terms * exact(x[i], 0)) << x[i];
}

// The exponent puts the greatest gradient into [2^43, 2^44), wherever fp32 has it.
TEST(FixedPoint, ARoundTripKeepsAllBitsDownTo2ToTheMinus72OfTheGreatest) {
  OperationContext context;
  for (const int scale : {-77, -20, 0, 60, 127}) {
    std::vector<float> x = gradients(3001, 3, 72);
    for (float& v : x) v = std::ldexp(v, scale);
    const int exponent = kExponent - scale;
    const Integers made = fixed(context, x, exponent);
    EXPECT_EQ(back(context, made, exponent), x) << scale;
    EXPECT_EQ(made.fact(kFactFlags), 0);
  }
  const std::vector<float> least = {std::numeric_limits<float>::denorm_min(), -0x1p-148f};
  EXPECT_EQ(back(context, fixed(context, least, 191), 191), least);
}

TEST(FixedPoint, SmallerElementsAreWrongBy2ToTheMinus96OfTheGreatest) {
  OperationContext context;
  const std::vector<float> x = gradients(3001, 4, 110);
  const std::vector<float> both = back(context, fixed(context, x)),
                           rounded = back(context, fixed(context, x, kExponent, false));
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_LE(std::abs(both[i] - x[i]), 0x1p-96f) << x[i];
    ASSERT_LE(std::abs(rounded[i] - x[i]), 0x1p-44f) << x[i];
    if (std::abs(x[i]) >= 0x1p-90f) {
      ASSERT_LE(std::abs(both[i] - x[i]), 0x1p-6f * std::abs(x[i])) << x[i];
    }
  }
}

TEST(FixedPoint, ElementsThatDoNotCountAreZeroAndFlagged) {
  OperationContext context;
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  const float end = 0x1p8f;  // 2^51 units
  struct Case {
    float x;
    int64_t flags;
  };
  for (const auto& [bad, flags] :
       {Case{std::nextafter(end, 0.0f), 0}, Case{-std::nextafter(end, 0.0f), 0}, Case{end, kFactOverflow},
        Case{-end, kFactOverflow}, Case{std::numeric_limits<float>::max(), kFactOverflow},
        Case{kInfinity, kFactNonFinite}, Case{-kInfinity, kFactNonFinite}, Case{kNaN, kFactNonFinite}}) {
    for (const int64_t at : {0, 3, 5000}) {
      for (const bool with_low : {false, true}) {
        std::vector<float> x = gradients(5001, 5, 20);
        x[at] = bad;
        const Integers made = fixed(context, x, kExponent, with_low);
        EXPECT_EQ(made.fact(kFactFlags), flags) << bad;
        EXPECT_EQ(made.at(at), flags ? 0 : exact(bad, kExponent)) << bad;
        EXPECT_EQ(made.at(4), exact(x[4], kExponent)) << bad;
      }
    }
  }
  const Integers all = fixed(context, {end, 1});
  add(context, {2, kNaN}, all);
  EXPECT_EQ(all.fact(kFactFlags), kFactOverflow | kFactNonFinite) << "flags are kept";
  EXPECT_EQ(all.at(0), exact(2, kExponent));
  EXPECT_EQ(all.at(1), exact(1, kExponent));
  EXPECT_EQ(all.fact(kFactSquaresHigh) | all.fact(kFactSquaresLow) | all.fact(kFactGreatest), 0);
}

// 2^52 low parts are a unit, and a sum rounds to f64 once for each of its parts.
TEST(FixedPoint, LowPartsOfSumsMayExceedAUnit) {
  OperationContext context;
  Integers sums(context, 2);
  const std::array<int64_t, 2> high = {-3, 5}, low = {(int64_t{7} << 52) + (int64_t{1} << 51), -(int64_t{6} << 52)};
  std::copy(high.begin(), high.end(), sums.high.data<int64_t>());
  std::copy(low.begin(), low.end(), sums.low.data<int64_t>());
  EXPECT_EQ(back(context, sums, 1), (std::vector<float>{2.25f, -0.5f}));
}

TEST(FixedPoint, IntegersOfAnySizeBecomeTheNearestF64) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  for (const int64_t integer : {int64_t{0}, int64_t{1}, int64_t{-1}, most, -most, -most - 1, (int64_t{1} << 53) + 1,
                                (int64_t{1} << 53) + 3, -(int64_t{1} << 53) - 1, int64_t{0xffffffff}, int64_t{1} << 32,
                                -(int64_t{1} << 32), int64_t{-0x123456789abcdef}}) {
    EXPECT_EQ(formulas::nearest_double(integer), static_cast<double>(integer)) << integer;
  }
  for (const int32_t exponent : {-200, -1, 0, 1, 250}) {
    EXPECT_EQ(formulas::power_of_two(exponent), std::ldexp(1.0, exponent));
  }
}

}  // namespace
}  // namespace weft
