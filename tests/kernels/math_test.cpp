// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/math.h"

#include <gtest/gtest.h>

#include <limits>

namespace weft {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Largest |fast - exact| / max(|exact|, floor) over a grid.
template <class Fast, class Exact>
double worst(Fast fast, Exact exact, double from, double to, double floor) {
  double most = 0;
  for (int i = 0; i <= 1000000; ++i) {
    const auto x = static_cast<float>(from + (to - from) * i / 1000000);
    const double e = exact(static_cast<double>(x));
    most = std::max(most, std::abs(static_cast<double>(fast(x)) - e) / std::max(std::abs(e), floor));
  }
  return most;
}

TEST(Math, Exponential) {
  const auto fast = [](float x) { return cpu::exp(x); };
  const auto exact = [](double x) { return std::exp(x); };
  EXPECT_LT(worst(fast, exact, -87, 88.7, 0), 2e-7);
  EXPECT_LT(worst(fast, exact, -104, -87, 1e-38), 2e-7);
  EXPECT_EQ(cpu::exp(0.0f), 1.0f);
  EXPECT_EQ(cpu::exp(-kInf), 0.0f);
  EXPECT_EQ(cpu::exp(-1e30f), 0.0f);
  EXPECT_EQ(cpu::exp(kInf), kInf);
  EXPECT_EQ(cpu::exp(89.0f), kInf);
  EXPECT_TRUE(std::isnan(cpu::exp(std::nanf(""))));
}

TEST(Math, ErrorFunction) {
  const auto fast = [](float x) { return cpu::erf(x); };
  const auto exact = [](double x) { return std::erf(x); };
  EXPECT_LT(worst(fast, exact, -6, 6, 1), 2e-7);
  EXPECT_LT(worst(fast, exact, -2, 2, 1e-30), 1e-6);
  EXPECT_EQ(cpu::erf(kInf), 1.0f);
  EXPECT_EQ(cpu::erf(-kInf), -1.0f);
  EXPECT_TRUE(std::isnan(cpu::erf(std::nanf(""))));
}

template <Activation A>
void check_activation() {
  const auto value = [](float x) { return cpu::activated<A>(x); };
  const auto slope = [](float x) { return cpu::activation_slope<A>(x); };
  EXPECT_LT(worst(
                value, [](double x) { return cpu::activated<A>(x); }, -20, 20, 1),
            1e-6);
  EXPECT_LT(worst(
                slope, [](double x) { return cpu::activation_slope<A>(x); }, -20, 20, 1),
            2e-6);
  for (const double x : {-3.0, -0.7, 0.3, 2.0}) {
    const double difference = (cpu::activated<A>(x + 1e-6) - cpu::activated<A>(x - 1e-6)) / 2e-6;
    EXPECT_NEAR(cpu::activation_slope<A>(x), difference, 1e-8);
  }
  for (const float x : {-1e30f, -1e6f, 1e6f, 1e30f}) {
    EXPECT_EQ(cpu::activated<A>(x), x > 0 ? x : 0) << x;
    EXPECT_EQ(cpu::activation_slope<A>(x), x > 0 ? 1 : 0) << x;
  }
  EXPECT_TRUE(std::isnan(cpu::activated<A>(std::nanf(""))));
}

TEST(Math, ActivationsAndSlopes) {
  check_activation<Activation::Relu>();
  check_activation<Activation::Gelu>();
  check_activation<Activation::GeluTanh>();
  check_activation<Activation::Silu>();
  // torch.nn.functional.gelu(1.0), and with approximate="tanh"; silu(1.0)
  EXPECT_NEAR(cpu::activated<Activation::Gelu>(1.0), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(cpu::activated<Activation::GeluTanh>(1.0), 0.8411919906082768, 1e-15);
  EXPECT_NEAR(cpu::activated<Activation::Silu>(1.0), 0.7310585786300049, 1e-15);
}

}  // namespace
}  // namespace weft
