// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/exponents.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft {
namespace {

GradientFacts of(double greatest) { return {.squares = 1, .greatest = greatest}; }

// The greatest element lies in [2^43, 2^44).
void expect_fits(double greatest, int32_t exponent) {
  EXPECT_GE(std::ldexp(greatest, exponent), std::ldexp(1, 43)) << greatest;
  EXPECT_LT(std::ldexp(greatest, exponent), std::ldexp(1, 44)) << greatest;
}

TEST(Exponents, FirstStepIsComputedAgainWithItsOwn) {
  Exponents exponents(3);
  EXPECT_EQ(exponents.known(), std::vector<int32_t>(3, Exponents::kUnknown));
  const std::vector<GradientFacts> facts = {of(1e-3), of(0), of(7.0)};
  EXPECT_TRUE(exponents.must_repeat(facts));
  EXPECT_FALSE(exponents.must_repeat(facts));
  exponents.end_step(facts);
  expect_fits(1e-3, exponents.known()[0]);
  EXPECT_EQ(exponents.known()[1], Exponents::kUnknown) << "no gradient was seen";
  expect_fits(7.0, exponents.known()[2]);
  exponents.begin_step();
  EXPECT_FALSE(exponents.must_repeat(facts));
}

TEST(Exponents, FollowTheStepBeforeAndNotThisOne) {
  Exponents exponents(1);
  exponents.restore({40});
  exponents.begin_step();
  EXPECT_FALSE(exponents.must_repeat(std::vector{of(20)}));  // it may be 128 times greater
  EXPECT_EQ(exponents.now()[0], 40);
  exponents.end_step(std::vector{of(20)});
  expect_fits(20, exponents.known()[0]);
}

TEST(Exponents, OverflowIsComputedAgainUntilItFits) {
  Exponents exponents(1);
  exponents.restore({100});
  exponents.begin_step();
  GradientFacts over = of(1);
  over.overflow = true;
  EXPECT_TRUE(exponents.must_repeat(std::vector{over}));
  EXPECT_EQ(exponents.now()[0], 70);
  EXPECT_TRUE(exponents.must_repeat(std::vector{over}));
  EXPECT_EQ(exponents.now()[0], 40);
  // What overflowed was a part: the sum is far smaller, and asks for nothing.
  EXPECT_FALSE(exponents.must_repeat(std::vector{of(1e-9)}));
  exponents.end_step(std::vector{of(1e-9)});
  EXPECT_EQ(exponents.known()[0], 40);
}

TEST(Exponents, FarSmallerGradientIsComputedAgain) {
  Exponents exponents(1);
  exponents.restore({43});  // for 1
  exponents.begin_step();
  EXPECT_FALSE(exponents.must_repeat(std::vector{of(std::ldexp(1, -20))}));
  EXPECT_TRUE(exponents.must_repeat(std::vector{of(std::ldexp(1, -21))}));
  EXPECT_FALSE(exponents.must_repeat(std::vector{of(std::ldexp(1, -21))}));
}

TEST(Exponents, StepThatIsNotFiniteIsNotRepeated) {
  Exponents exponents(2);
  exponents.begin_step();
  GradientFacts broken = of(1);
  broken.not_finite = true, broken.overflow = true;
  const std::vector<GradientFacts> facts = {of(1e-9), broken};
  EXPECT_FALSE(exponents.must_repeat(facts));
  EXPECT_TRUE(std::isnan(squared_norm(facts, exponents.now())));
}

TEST(Exponents, RepeatsEndForAnyGradient) {
  for (const double greatest : {1e-45, 1e-38, 1e-20, 1.0, 1e20, 3e38}) {
    Exponents exponents(1);
    exponents.begin_step();
    int tries = 1;
    for (; tries < 20; ++tries) {
      GradientFacts facts = of(greatest);
      facts.overflow = std::ldexp(greatest, exponents.now()[0]) >= std::ldexp(1, 51);
      if (!exponents.must_repeat(std::vector{facts})) break;
    }
    EXPECT_LT(tries, 8) << greatest;
    EXPECT_LT(std::ldexp(greatest, exponents.now()[0]), std::ldexp(1, 51)) << greatest;
  }
}

TEST(Exponents, AreRestoredForTheSameParametersAlone) {
  Exponents exponents(2);
  exponents.restore({5, 6});
  EXPECT_EQ(exponents.known(), (std::vector<int32_t>{5, 6}));
  exponents.restore({5});
  EXPECT_EQ(exponents.known(), std::vector<int32_t>(2, Exponents::kUnknown));
  exponents.restore({5, 100000});  // no step stores that
  EXPECT_EQ(exponents.known(), (std::vector<int32_t>{5, Exponents::kUnknown}));
}

TEST(SquaredNorm, AddsSquaresInTheirUnits) {
  const std::vector<GradientFacts> facts = {{.squares = std::ldexp(9, -71)}, {.squares = std::ldexp(16, 2 * 40 - 71)}};
  EXPECT_DOUBLE_EQ(squared_norm(facts, std::vector<int32_t>{0, 40}), 25);
}

}  // namespace
}  // namespace weft
