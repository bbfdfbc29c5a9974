// SPDX-License-Identifier: Apache-2.0
// cvt between all types that kernels use.
#include <cfloat>
#include <cmath>

#include "tests/simulator/machine/fixture.h"

namespace weft::cuda_device {
namespace {

using U16 = std::vector<uint16_t>;
using U32 = std::vector<uint32_t>;
using S32 = std::vector<int32_t>;
using U64 = std::vector<uint64_t>;
using S64 = std::vector<int64_t>;
using F32 = std::vector<float>;
using F64 = std::vector<double>;

TEST(Convert, IntegersExtendAndCut) {
  EXPECT_EQ(evaluate<int64_t>("cvt.s64.s32 %d, %a;", S32{-5, 7}), (S64{-5, 7}));
  EXPECT_EQ(evaluate<uint64_t>("cvt.u64.u32 %d, %a;", U32{0xfffffffbu}), (U64{0xfffffffbu}));
  EXPECT_EQ(evaluate<uint32_t>("cvt.u32.u64 %d, %a;", U64{1ull << 32 | 9}), (U32{9}));
  EXPECT_EQ(evaluate<uint32_t>("cvt.u32.u16 %d, %a;", U16{0xffff}), (U32{0xffff}));
  EXPECT_EQ(evaluate<int32_t>("cvt.s32.s16 %d, %a;", U16{0xffff}), (S32{-1}));
  EXPECT_EQ(evaluate<int32_t>("cvt.s32.s8 %d, %a;", U32{0x1280}), (S32{-128}));  // the low byte of a wider register
  EXPECT_EQ(evaluate<uint32_t>("cvt.u16.u32 %d, %a;", U32{0x12345678u}), (U32{0x5678}));
  EXPECT_EQ(evaluate<int32_t>("cvt.sat.s8.s32 %d, %a;", S32{300, -300, 5}), (S32{127, -128, 5}));
  EXPECT_EQ(evaluate<uint32_t>("cvt.sat.u32.s32 %d, %a;", S32{-3, 4}), (U32{0, 4}));
}

TEST(Convert, FloatsToIntegersRoundAndClamp) {
  const F32 a = {2.5f, 3.5f, -2.5f, -0.5f, 1e20f, -1e20f, kNaN, 2.f};
  const int32_t low = INT32_MIN, high = INT32_MAX;
  EXPECT_EQ(evaluate<int32_t>("cvt.rni.s32.f32 %d, %a;", a), (S32{2, 4, -2, 0, high, low, 0, 2}));
  EXPECT_EQ(evaluate<int32_t>("cvt.rzi.s32.f32 %d, %a;", a), (S32{2, 3, -2, 0, high, low, 0, 2}));
  EXPECT_EQ(evaluate<int32_t>("cvt.rmi.s32.f32 %d, %a;", a), (S32{2, 3, -3, -1, high, low, 0, 2}));
  EXPECT_EQ(evaluate<int32_t>("cvt.rpi.s32.f32 %d, %a;", a), (S32{3, 4, -2, 0, high, low, 0, 2}));
  EXPECT_EQ(evaluate<uint32_t>("cvt.rzi.u32.f32 %d, %a;", F32{-1, 4e9f, 1e10f}), (U32{0, 4000000000u, 0xffffffffu}));
  EXPECT_EQ(evaluate<uint64_t>("cvt.rzi.u64.f32 %d, %a;", F32{1e19f}),
            (U64{10000000000000000000ull - 10000000000000000000ull % (1ull << 40)}));
  EXPECT_EQ(evaluate<int64_t>("cvt.rzi.s64.f64 %d, %a;", F64{-1e15 - 0.5}), (S64{-1000000000000000ll}));
}

// As the manual says of cvt: 0 only where neither type has 64 bits.
TEST(Convert, NaNIsTheHighestBitOfWideTypes) {
  EXPECT_EQ(evaluate<uint32_t>("cvt.rzi.u32.f32 %d, %a;", F32{kNaN}), (U32{0}));
  EXPECT_EQ(evaluate<int64_t>("cvt.rzi.s64.f32 %d, %a;", F32{kNaN}), (S64{INT64_MIN}));
  EXPECT_EQ(evaluate<uint64_t>("cvt.rzi.u64.f32 %d, %a;", F32{kNaN}), (U64{1ull << 63}));
  EXPECT_EQ(evaluate<int32_t>("cvt.rzi.s32.f64 %d, %a;", F64{double(kNaN)}), (S32{INT32_MIN}));
  EXPECT_EQ(evaluate<uint32_t>("cvt.rzi.u32.f64 %d, %a;", F64{double(kNaN)}), (U32{1u << 31}));
}

TEST(Convert, FloatsToWholeFloats) {
  const F32 a = {2.5f, -2.5f, 0.7f};
  EXPECT_EQ(evaluate<float>("cvt.rni.f32.f32 %d, %a;", a), (F32{2, -2, 1}));
  EXPECT_EQ(evaluate<float>("cvt.rzi.f32.f32 %d, %a;", a), (F32{2, -2, 0}));
  EXPECT_EQ(evaluate<float>("cvt.rmi.f32.f32 %d, %a;", a), (F32{2, -3, 0}));
  EXPECT_EQ(evaluate<float>("cvt.rpi.f32.f32 %d, %a;", a), (F32{3, -2, 1}));
  EXPECT_EQ(evaluate<float>("cvt.sat.f32.f32 %d, %a;", F32{2, -1, 0.5f, kNaN}), (F32{1, 0, 0.5f, 0}));
  EXPECT_EQ(evaluate<double>("cvt.rmi.f64.f64 %d, %a;", F64{-0.5}), (F64{-1}));
}

// 2^24 + 1 and 2^53 + 1 lie half way between two floats.
TEST(Convert, IntegersToFloatsRound) {
  const S32 a = {(1 << 24) + 1, -(1 << 24) - 1, 5};
  EXPECT_EQ(evaluate<float>("cvt.rn.f32.s32 %d, %a;", a), (F32{0x1p24f, -0x1p24f, 5}));
  EXPECT_EQ(evaluate<float>("cvt.rz.f32.s32 %d, %a;", a), (F32{0x1p24f, -0x1p24f, 5}));
  EXPECT_EQ(evaluate<float>("cvt.rm.f32.s32 %d, %a;", a), (F32{0x1p24f, -0x1p24f - 2, 5}));
  EXPECT_EQ(evaluate<float>("cvt.rp.f32.s32 %d, %a;", a), (F32{0x1p24f + 2, -0x1p24f, 5}));
  EXPECT_EQ(evaluate<float>("cvt.rn.f32.u32 %d, %a;", U32{0xffffffffu}), (F32{0x1p32f}));
  const U64 b = {(1ull << 60) + (1ull << 36) + 1, (1ull << 60) + (1ull << 36)};  // just above the middle; the middle
  EXPECT_EQ(evaluate<float>("cvt.rn.f32.u64 %d, %a;", b), (F32{0x1p60f + 0x1p37f, 0x1p60f}));
  EXPECT_EQ(evaluate<float>("cvt.rz.f32.u64 %d, %a;", b), (F32{0x1p60f, 0x1p60f}));
  EXPECT_EQ(evaluate<double>("cvt.rn.f64.s64 %d, %a;", S64{(1ll << 53) + 1}), (F64{0x1p53}));
  EXPECT_EQ(evaluate<double>("cvt.rn.f64.s32 %d, %a;", S32{-7}), (F64{-7}));
}

TEST(Convert, BetweenFloats) {
  const double v = 1 + 0x1p-24 + 0x1p-40;
  EXPECT_EQ(evaluate<float>("cvt.rn.f32.f64 %d, %a;", F64{v}), (F32{1 + 0x1p-23f}));
  EXPECT_EQ(evaluate<float>("cvt.rz.f32.f64 %d, %a;", F64{v}), (F32{1}));
  EXPECT_EQ(evaluate<double>("cvt.f64.f32 %d, %a;", F32{0.1f}), (F64{double(0.1f)}));
  const double small = FLT_MIN / 4;  // subnormal in fp32
  EXPECT_EQ(evaluate<double>("cvt.f64.f32 %d, %a;", F32{float(small)}), (F64{small}));
  EXPECT_EQ(evaluate<double>("cvt.ftz.f64.f32 %d, %a;", F32{float(small), 3}), (F64{0, 3}));
  EXPECT_EQ(evaluate<float>("cvt.rn.f32.f64 %d, %a;", F64{small}), (F32{float(small)}));
  EXPECT_EQ(evaluate<float>("cvt.rn.ftz.f32.f64 %d, %a;", F64{small, v}), (F32{0, 1 + 0x1p-23f}));
}

TEST(Convert, Bf16) {
  // 1 + 2^-8 is half way between 1 and 1 + 2^-7: ties to even; a slightly larger value rounds up.
  const F32 a = {1.f + 0x1p-8f, 1.f + 0x1p-8f + 0x1p-20f, 1.f + 3 * 0x1p-8f, -1.5f, FLT_MAX, kNaN};
  EXPECT_EQ(evaluate<uint16_t>("cvt.rn.bf16.f32 %d, %a;", a), (U16{0x3f80, 0x3f81, 0x3f82, 0xbfc0, 0x7f80, 0x7fff}));
  EXPECT_EQ(evaluate<uint16_t>("cvt.rz.bf16.f32 %d, %a;", a), (U16{0x3f80, 0x3f80, 0x3f81, 0xbfc0, 0x7f7f, 0x7fff}));
  EXPECT_EQ(evaluate<uint16_t>("cvt.rn.relu.bf16.f32 %d, %a;", F32{-2, 2}), (U16{0, 0x4000}));
  EXPECT_EQ(evaluate<float>("cvt.f32.bf16 %d, %a;", U16{0x3f81}), (F32{1 + 0x1p-7f}));
  EXPECT_EQ(evaluate<uint32_t>("cvt.rn.bf16x2.f32 %d, %a, %b;", F32{2}, F32{1}),
            (U32{0x40003f80u}));  // the first operand in the high half
}

TEST(Convert, Tf32RoundsTiesAway) {
  const F32 a = {1 + 0x1p-11f, 1 + 0x1p-12f};
  const U32 got = evaluate<uint32_t>("cvt.rna.tf32.f32 %d, %a;", a);
  EXPECT_EQ(std::bit_cast<float>(got[0]), 1 + 0x1p-10f);
  EXPECT_EQ(std::bit_cast<float>(got[1]), 1.f);
}

}  // namespace
}  // namespace weft::cuda_device
