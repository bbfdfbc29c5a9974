// SPDX-License-Identifier: Apache-2.0
// Arithmetic of integers, floats and bf16, against plain C++ or the manual's special cases.
#include <cfloat>
#include <cmath>
#include <limits>

#include "tests/simulator/machine/fixture.h"

namespace weft::cuda_device {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
using U32 = std::vector<uint32_t>;
using S32 = std::vector<int32_t>;
using U64 = std::vector<uint64_t>;
using S64 = std::vector<int64_t>;
using F32 = std::vector<float>;
using F64 = std::vector<double>;
using Bits16 = std::vector<uint16_t>;

const S32 kInts = {0, 1, -1, 7, -7, 1'000'000, -1'000'000, INT32_MAX, INT32_MIN, 12345};
const S32 kOtherInts = {5, -1, -1, 2, 2, 4097, 4097, 1, -1, -678};

template <class T, class F>
std::vector<T> each(const std::vector<T>& a, const std::vector<T>& b, F&& f) {
  std::vector<T> r;
  for (size_t k = 0; k < a.size(); ++k) r.push_back(T(f(a[k], b[k])));
  return r;
}

TEST(Arithmetic, IntegersWrap) {
  const auto wrapped = [](auto f) {
    return each(kInts, kOtherInts, [&](int32_t a, int32_t b) { return int32_t(uint32_t(f(int64_t{a}, int64_t{b}))); });
  };
  EXPECT_EQ(evaluate<int32_t>("add.s32 %d, %a, %b;", kInts, kOtherInts),
            wrapped([](int64_t a, int64_t b) { return a + b; }));
  EXPECT_EQ(evaluate<int32_t>("sub.s32 %d, %a, %b;", kInts, kOtherInts),
            wrapped([](int64_t a, int64_t b) { return a - b; }));
  EXPECT_EQ(evaluate<int32_t>("mul.lo.s32 %d, %a, %b;", kInts, kOtherInts),
            wrapped([](int64_t a, int64_t b) { return a * b; }));
  EXPECT_EQ(evaluate<int32_t>("mul.hi.s32 %d, %a, %b;", kInts, kOtherInts),
            wrapped([](int64_t a, int64_t b) { return (a * b) >> 32; }));
  EXPECT_EQ(evaluate<int32_t>("min.s32 %d, %a, %b;", kInts, kOtherInts),
            wrapped([](int64_t a, int64_t b) { return std::min(a, b); }));
  EXPECT_EQ(evaluate<int32_t>("max.s32 %d, %a, %b;", kInts, kOtherInts),
            wrapped([](int64_t a, int64_t b) { return std::max(a, b); }));
  EXPECT_EQ(evaluate<int32_t>("div.s32 %d, %a, %b;", kInts, kOtherInts),
            wrapped([](int64_t a, int64_t b) { return a / b; }));
  EXPECT_EQ(evaluate<int32_t>("rem.s32 %d, %a, %b;", kInts, kOtherInts),
            wrapped([](int64_t a, int64_t b) { return a % b; }));
  EXPECT_EQ(evaluate<int32_t>("mad.lo.s32 %d, %a, %b, %a;", kInts, kOtherInts),
            wrapped([](int64_t a, int64_t b) { return a * b + a; }));
  EXPECT_EQ(evaluate<int32_t>("mad.hi.s32 %d, %a, %b, %a;", kInts, kOtherInts),
            wrapped([](int64_t a, int64_t b) { return ((a * b) >> 32) + a; }));
  EXPECT_EQ(evaluate<int32_t>("neg.s32 %d, %a;", kInts, kOtherInts), wrapped([](int64_t a, int64_t) { return -a; }));
  EXPECT_EQ(evaluate<int32_t>("abs.s32 %d, %a;", kInts, kOtherInts),
            wrapped([](int64_t a, int64_t) { return a < 0 ? -a : a; }));
  EXPECT_EQ(evaluate<int32_t>("sad.s32 %d, %a, %b, %b;", kInts, kOtherInts),
            wrapped([](int64_t a, int64_t b) { return b + (a > b ? a - b : b - a); }));
}

TEST(Arithmetic, SignDecidesHighHalvesAndOrder) {
  const U32 a = {0xffffffffu, 0x80000000u, 3}, b = {0xffffffffu, 2, 0x7fffffffu};
  EXPECT_EQ(evaluate<uint32_t>("mul.hi.u32 %d, %a, %b;", a, b), (U32{0xfffffffeu, 1, 1}));
  EXPECT_EQ(evaluate<uint32_t>("mul.hi.s32 %d, %a, %b;", a, b), (U32{0, 0xffffffffu, 1}));
  EXPECT_EQ(evaluate<uint32_t>("max.u32 %d, %a, %b;", a, b), (U32{0xffffffffu, 0x80000000u, 0x7fffffffu}));
  EXPECT_EQ(evaluate<uint32_t>("max.s32 %d, %a, %b;", a, b), (U32{0xffffffffu, 2, 0x7fffffffu}));
  EXPECT_EQ(evaluate<uint32_t>("div.u32 %d, %a, %b;", a, b), (U32{1, 0x40000000u, 0}));
}

TEST(Arithmetic, WideProducts) {
  const U32 a = {0xffffffffu, 100000, 0x80000000u}, b = {0xfffffffeu, 100000, 3};
  EXPECT_EQ(evaluate<uint64_t>("mul.wide.u32 %d, %a, %b;", a, b),
            (U64{0xfffffffdull << 32 | 2, 10'000'000'000ull, 3ull << 31}));
  EXPECT_EQ(evaluate<int64_t>("mul.wide.s32 %d, %a, %b;", a, b), (S64{2, 10'000'000'000ll, -(3ll << 31)}));
  EXPECT_EQ(evaluate<int64_t>("mad.wide.s32 %d, %a, %b, %c;", a, b, S64{5, -1, 1}),
            (S64{7, 9'999'999'999ll, 1 - (3ll << 31)}));
  EXPECT_EQ(evaluate<uint32_t>("mul.wide.u16 %d, %a, %b;", Bits16{0xffff, 300}, Bits16{0xffff, 300}),
            (U32{0xfffe0001u, 90000}));
}

TEST(Arithmetic, SixtyFourBits) {
  const S64 a = {1ll << 40, -5, INT64_MIN, 123456789012345ll}, b = {3, 7, -1, -1000};
  EXPECT_EQ(evaluate<int64_t>("mul.lo.s64 %d, %a, %b;", a, b), (S64{3ll << 40, -35, INT64_MIN, -123456789012345000ll}));
  EXPECT_EQ(evaluate<int64_t>("mul.hi.s64 %d, %a, %b;", a, b), (S64{0, -1, 0, -1}));
  EXPECT_EQ(evaluate<int64_t>("div.s64 %d, %a, %b;", a, b), (S64{(1ll << 40) / 3, 0, INT64_MIN, -123456789012ll}));
  EXPECT_EQ(evaluate<int64_t>("rem.s64 %d, %a, %b;", a, b), (S64{(1ll << 40) % 3, -5, 0, 345}));
  EXPECT_EQ(evaluate<uint64_t>("mul.hi.u64 %d, %a, %b;", U64{~0ull}, U64{~0ull}), (U64{~0ull - 1}));
}

TEST(Arithmetic, FloatsRoundToNearest) {
  const F32 a = {1.f, 0.1f, 1e30f, -2.5f, 3.f, 0.f}, b = {3.f, 0.2f, 1e30f, 7.25f, -0.f, -0.f};
  EXPECT_EQ(evaluate<float>("add.f32 %d, %a, %b;", a, b), each(a, b, [](float x, float y) { return x + y; }));
  EXPECT_EQ(evaluate<float>("sub.rn.f32 %d, %a, %b;", a, b), each(a, b, [](float x, float y) { return x - y; }));
  EXPECT_EQ(evaluate<float>("mul.f32 %d, %a, %b;", a, b), each(a, b, [](float x, float y) { return x * y; }));
  EXPECT_EQ(evaluate<float>("div.rn.f32 %d, %a, %b;", F32{1, 7, -1}, F32{3, 0, 0}), (F32{1.f / 3.f, kInf, -kInf}));
  EXPECT_EQ(evaluate<float>("fma.rn.f32 %d, %a, %b, %c;", F32{1.f + 0x1p-12f}, F32{1.f - 0x1p-12f}, F32{-1.f}),
            (F32{-0x1p-24f}));
}

// A sum whose exact value lies 2^-30 above or below 1, and such a product: each direction picks its neighbour.
TEST(Arithmetic, FloatsRoundInEachDirection) {
  const float above = std::nextafter(1.f, 2.f), below = std::nextafter(1.f, 0.f);
  const F32 a = {1.f, 1.f, -1.f, -1.f}, b = {0x1p-30f, -0x1p-30f, 0x1p-30f, -0x1p-30f};
  EXPECT_EQ(evaluate<float>("add.rn.f32 %d, %a, %b;", a, b), (F32{1, 1, -1, -1}));
  EXPECT_EQ(evaluate<float>("add.rz.f32 %d, %a, %b;", a, b), (F32{1, below, -below, -1}));
  EXPECT_EQ(evaluate<float>("add.rm.f32 %d, %a, %b;", a, b), (F32{1, below, -1, -above}));
  EXPECT_EQ(evaluate<float>("add.rp.f32 %d, %a, %b;", a, b), (F32{above, 1, -below, -1}));
  EXPECT_EQ(evaluate<float>("fma.rm.f32 %d, %a, %a, %b;", a, b), (F32{1, below, 1, below}));
  EXPECT_EQ(evaluate<float>("fma.rp.f32 %d, %a, %a, %b;", a, b), (F32{above, 1, above, 1}));
  EXPECT_EQ(evaluate<float>("mul.rz.f32 %d, %a, %a;", F32{above}), (F32{1.f + 0x1p-22f}));
  EXPECT_EQ(evaluate<float>("mul.rp.f32 %d, %a, %a;", F32{above}), (F32{1.f + 0x1p-22f + 0x1p-23f}));
  EXPECT_EQ(evaluate<float>("mul.rz.f32 %d, %a, %a;", F32{FLT_MAX}), (F32{FLT_MAX}));
}

TEST(Arithmetic, SubnormalsAreFlushedWhereAsked) {
  const float small = 0x1p-130f;
  EXPECT_EQ(evaluate<float>("add.f32 %d, %a, %b;", F32{small}, F32{0}), (F32{small}));
  EXPECT_EQ(evaluate<float>("add.ftz.f32 %d, %a, %b;", F32{small, -small}, F32{1, 0}), (F32{1, -0.f}));
  EXPECT_EQ(evaluate<float>("mul.ftz.f32 %d, %a, %b;", F32{0x1p-100f}, F32{0x1p-30f}), (F32{0}));
  EXPECT_EQ(evaluate<float>("fma.rn.ftz.f32 %d, %a, %b, %c;", F32{1}, F32{1}, F32{small}), (F32{1}));
  EXPECT_EQ(evaluate<float>("ex2.approx.ftz.f32 %d, %a;", F32{-130}), (F32{0}));
  EXPECT_EQ(evaluate<float>("ex2.approx.f32 %d, %a;", F32{-130}), (F32{small}));
}

TEST(Arithmetic, Saturation) {
  EXPECT_EQ(evaluate<float>("add.sat.f32 %d, %a, %b;", F32{1, -1, 0.25f, kNaN}, F32{1, 0, 0.5f, 1}),
            (F32{1, 0, 0.75f, 0}));
  EXPECT_EQ(evaluate<float>("fma.rn.sat.f32 %d, %a, %b, %b;", F32{2, -2}, F32{3, 3}), (F32{1, 0}));
}

TEST(Arithmetic, ExtremesTakeTheNumber) {
  const F32 a = {1, kNaN, 2, kNaN, -0.f}, b = {2, 5, kNaN, kNaN, 0.f};
  const F32 max = evaluate<float>("max.f32 %d, %a, %b;", a, b), min = evaluate<float>("min.f32 %d, %a, %b;", a, b);
  EXPECT_EQ(F32(max.begin(), max.begin() + 3), (F32{2, 5, 2}));
  EXPECT_EQ(F32(min.begin(), min.begin() + 3), (F32{1, 5, 2}));
  EXPECT_TRUE(std::isnan(max[3]) && std::isnan(min[3]));
  EXPECT_FALSE(std::signbit(max[4]));
  EXPECT_TRUE(std::signbit(min[4]));
  EXPECT_TRUE(std::isnan(evaluate<float>("max.NaN.f32 %d, %a, %b;", F32{1}, F32{kNaN})[0]));
}

TEST(Arithmetic, Signs) {
  EXPECT_EQ(evaluate<float>("copysign.f32 %d, %a, %b;", F32{-1, 1}, F32{3, -3}), (F32{-3, 3}));
  EXPECT_EQ(evaluate<float>("neg.f32 %d, %a;", F32{3, -kInf}), (F32{-3, kInf}));
  EXPECT_EQ(evaluate<float>("abs.f32 %d, %a;", F32{-3, kInf}), (F32{3, kInf}));
}

TEST(Arithmetic, Doubles) {
  const F64 a = {1, 0.1, 1e300}, b = {3, 0.2, 1e10};
  EXPECT_EQ(evaluate<double>("add.f64 %d, %a, %b;", a, b), each(a, b, [](double x, double y) { return x + y; }));
  EXPECT_EQ(evaluate<double>("mul.rn.f64 %d, %a, %b;", a, b), each(a, b, [](double x, double y) { return x * y; }));
  EXPECT_EQ(evaluate<double>("div.rn.f64 %d, %a, %b;", a, b), each(a, b, [](double x, double y) { return x / y; }));
  EXPECT_EQ(evaluate<double>("fma.rn.f64 %d, %a, %b, %a;", a, b),
            each(a, b, [](double x, double y) { return std::fma(x, y, x); }));
  EXPECT_EQ(evaluate<double>("sqrt.rn.f64 %d, %a;", a), (F64{1, std::sqrt(0.1), std::sqrt(1e300)}));
  EXPECT_EQ(evaluate<double>("rcp.rn.f64 %d, %a;", b), (F64{1.0 / 3, 1 / 0.2, 1 / 1e10}));
}

// Results are within one unit in the last place of the exact function, special values included.
TEST(Arithmetic, Functions) {
  const auto close = [](const char* code, const F32& at, double (*f)(double)) {
    const F32 got = evaluate<float>(code, at);
    for (size_t k = 0; k < at.size(); ++k) {
      const auto want = float(f(double(at[k])));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got[k])) << code << at[k];
      } else if (std::isinf(want)) {
        EXPECT_EQ(got[k], want) << code << at[k];
      } else {
        EXPECT_LE(std::fabs(got[k] - want), std::fabs(want) * 0x1p-23f) << code << " " << at[k];
      }
    }
  };
  const F32 some = {0.f,   1.f,   -1.f,   0.3f, -7.7f, 88.f, -126.5f, 127.99f,
                    128.f, 200.f, -200.f, kInf, -kInf, kNaN, 1e-20f};
  close("ex2.approx.f32 %d, %a;", some, [](double v) { return std::exp2(v); });
  close("lg2.approx.f32 %d, %a;", some, [](double v) { return std::log2(v); });
  close("tanh.approx.f32 %d, %a;", some, [](double v) { return std::tanh(v); });
  close("sqrt.rn.f32 %d, %a;", some, [](double v) { return std::sqrt(v); });
  close("rsqrt.approx.f32 %d, %a;", some, [](double v) { return 1 / std::sqrt(v); });
  close("rcp.approx.ftz.f32 %d, %a;", {1, -3, 1e20f, 0}, [](double v) { return 1 / v; });
  close("sin.approx.f32 %d, %a;", {0, 1, -2, 3}, [](double v) { return std::sin(v); });
  close("cos.approx.f32 %d, %a;", {0, 1, -2, 3}, [](double v) { return std::cos(v); });
}

// Each instruction rounds the exact result once, to the nearest of all bf16 values, ties to even.
TEST(Arithmetic, Bf16) {
  const auto nearest = [](double exact) {
    uint16_t best = 0;
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double v = bf16_value(uint16_t(bits)), d = std::fabs(v - exact), b = std::fabs(bf16_value(best) - exact);
      if (std::isfinite(v) && (d < b || (d == b && bits % 2 == 0 && best % 2 == 1))) best = uint16_t(bits);
    }
    return best;
  };
  const Bits16 a = {0x3f80, 0x3f81, 0xc2a3, 0x4b7f, 0x3f80, 0x1234},
               b = {0x3b80, 0x3f81, 0x3f01, 0x4380, 0x3380, 0x1111};
  const Bits16 c = {0x3f80, 0xbf81, 0x3f80, 0x3f80, 0x3b80, 0x0001};
  Bits16 sums, products, fused;
  for (size_t k = 0; k < a.size(); ++k) {
    const double x = bf16_value(a[k]), y = bf16_value(b[k]), z = bf16_value(c[k]);
    sums.push_back(nearest(x + y));
    products.push_back(nearest(x * y));
    fused.push_back(nearest(std::fma(x, y, z)));
  }
  EXPECT_EQ(evaluate<uint16_t>("add.rn.bf16 %d, %a, %b;", a, b), sums);
  EXPECT_EQ(evaluate<uint16_t>("mul.rn.bf16 %d, %a, %b;", a, b), products);
  EXPECT_EQ(evaluate<uint16_t>("fma.rn.bf16 %d, %a, %b, %c;", a, b, c), fused);
  const auto pair = [](uint32_t low, uint32_t high) { return high << 16 | low; };
  EXPECT_EQ(evaluate<uint32_t>("fma.rn.bf16x2 %d, %a, %b, %c;", U32{pair(a[0], a[1])}, U32{pair(b[0], b[1])},
                               U32{pair(c[0], c[1])}),
            (U32{pair(fused[0], fused[1])}));
  EXPECT_EQ(evaluate<uint32_t>("max.bf16x2 %d, %a, %b;", U32{pair(0x3f80, 0xbf80)}, U32{pair(0x4000, 0xc000)}),
            (U32{pair(0x4000, 0xbf80)}));
  EXPECT_EQ(evaluate<uint32_t>("neg.bf16x2 %d, %a;", U32{pair(0x3f80, 0xbf80)}), (U32{pair(0xbf80, 0x3f80)}));
}

}  // namespace
}  // namespace weft::cuda_device
