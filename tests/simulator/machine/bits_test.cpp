// SPDX-License-Identifier: Apache-2.0
// Logic, shifts, fields and counts of bits; comparisons and selections.
#include "tests/simulator/machine/fixture.h"

namespace weft::cuda_device {
namespace {

using U32 = std::vector<uint32_t>;
using S32 = std::vector<int32_t>;
using U64 = std::vector<uint64_t>;
using F32 = std::vector<float>;

TEST(Bits, Logic) {
  const U32 a = {0xf0f0f0f0u, 0, 0xffffffffu}, b = {0x12345678u, 5, 0x80000001u};
  EXPECT_EQ(evaluate<uint32_t>("and.b32 %d, %a, %b;", a, b), (U32{0x10305070u, 0, 0x80000001u}));
  EXPECT_EQ(evaluate<uint32_t>("or.b32 %d, %a, %b;", a, b), (U32{0xf2f4f6f8u, 5, 0xffffffffu}));
  EXPECT_EQ(evaluate<uint32_t>("xor.b32 %d, %a, %b;", a, b), (U32{0xe2c4a688u, 5, 0x7ffffffeu}));
  EXPECT_EQ(evaluate<uint32_t>("not.b32 %d, %a;", a), (U32{0x0f0f0f0fu, 0xffffffffu, 0}));
  EXPECT_EQ(evaluate<uint32_t>("cnot.b32 %d, %a;", a), (U32{0, 1, 0}));
  EXPECT_EQ(evaluate<uint64_t>("xor.b64 %d, %a, -1;", U64{1}), (U64{~1ull}));
}

// All 256 tables of three inputs, with operands whose bits cover every combination.
TEST(Bits, ThreeInputs) {
  const uint32_t a = 0xf0, b = 0xcc, c = 0xaa;
  for (const uint32_t table : {0x00u, 0x80u, 0x96u, 0xe8u, 0xf8u, 0x2au, 0xffu, 0x01u}) {
    const auto code = "lop3.b32 %d, %a, %b, %c, " + std::to_string(table) + ";";
    EXPECT_EQ(evaluate<uint32_t>(code, U32{a}, U32{b}, U32{c})[0] & 0xff, table);
  }
}

TEST(Bits, Shifts) {
  const U32 a = {0x80000001u, 0x80000001u, 0x80000001u, 1}, n = {1, 31, 32, 1000};
  EXPECT_EQ(evaluate<uint32_t>("shl.b32 %d, %a, %b;", a, n), (U32{2, 0x80000000u, 0, 0}));
  EXPECT_EQ(evaluate<uint32_t>("shr.u32 %d, %a, %b;", a, n), (U32{0x40000000u, 1, 0, 0}));
  EXPECT_EQ(evaluate<uint32_t>("shr.s32 %d, %a, %b;", a, n), (U32{0xc0000000u, 0xffffffffu, 0xffffffffu, 0}));
  EXPECT_EQ(evaluate<uint64_t>("shl.b64 %d, %a, 40;", U64{3}), (U64{3ull << 40}));
  EXPECT_EQ(evaluate<uint32_t>("shf.l.wrap.b32 %d, %a, %b, 8;", U32{0x11223344}, U32{0x55667788}), (U32{0x66778811}));
  EXPECT_EQ(evaluate<uint32_t>("shf.r.wrap.b32 %d, %a, %b, 40;", U32{0x11223344}, U32{0x55667788}), (U32{0x88112233}));
  EXPECT_EQ(evaluate<uint32_t>("shf.r.clamp.b32 %d, %a, %b, 40;", U32{0x11223344}, U32{0x55667788}), (U32{0x55667788}));
}

TEST(Bits, PermutesBytes) {
  const U32 a = {0x44332211u}, b = {0x88776655u};
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32 %d, %a, %b, 0x3210;", a, b), a);
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32 %d, %a, %b, 0x7654;", a, b), b);
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32 %d, %a, %b, 0x5410;", a, b), (U32{0x66552211u}));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32 %d, %a, %b, 0xf8f0;", a, b), (U32{0xff00ff11u}));  // signs of bytes 7, 0, 7
}

TEST(Bits, Fields) {
  EXPECT_EQ(evaluate<uint32_t>("bfe.u32 %d, %a, 8, 12;", U32{0x12345678u}), (U32{0x456}));
  EXPECT_EQ(evaluate<int32_t>("bfe.s32 %d, %a, 4, 4;", S32{0x000000f0, 0x00000070}), (S32{-1, 7}));
  EXPECT_EQ(evaluate<int32_t>("bfe.s32 %d, %a, 28, 8;", S32{INT32_MIN}), (S32{-8}));  // past the end: the sign bit
  EXPECT_EQ(evaluate<uint32_t>("bfe.u32 %d, %a, 28, 8;", U32{0x80000000u}), (U32{8}));
  EXPECT_EQ(evaluate<uint32_t>("bfi.b32 %d, %a, %b, 8, 12;", U32{0xabc}, U32{0xffffffffu}), (U32{0xfffabcffu}));
  EXPECT_EQ(evaluate<uint32_t>("bfi.b32 %d, %a, %b, 40, 12;", U32{0xabc}, U32{7}), (U32{7}));
}

TEST(Bits, Counts) {
  const U32 a = {0, 1, 0xffffffffu, 0x00f00000u};
  EXPECT_EQ(evaluate<uint32_t>("popc.b32 %d, %a;", a), (U32{0, 1, 32, 4}));
  EXPECT_EQ(evaluate<uint32_t>("clz.b32 %d, %a;", a), (U32{32, 31, 0, 8}));
  EXPECT_EQ(evaluate<uint32_t>("brev.b32 %d, %a;", a), (U32{0, 0x80000000u, 0xffffffffu, 0x00000f00u}));
  EXPECT_EQ(evaluate<uint32_t>("bfind.u32 %d, %a;", a), (U32{0xffffffffu, 0, 31, 23}));
  EXPECT_EQ(evaluate<uint32_t>("bfind.s32 %d, %a;", a), (U32{0xffffffffu, 0, 0xffffffffu, 23}));
  EXPECT_EQ(evaluate<uint32_t>("bfind.shiftamt.u32 %d, %a;", a), (U32{0xffffffffu, 31, 0, 8}));
  EXPECT_EQ(evaluate<uint32_t>("popc.b64 %d, %a;", U64{~0ull}), (U32{64}));
}

TEST(Bits, MovesPackAndUnpack) {
  EXPECT_EQ(evaluate<uint32_t>(".reg .b16 %lo, %hi; mov.b32 {%lo, %hi}, %a; mov.b32 %d, {%hi, %lo};", U32{0x11223344u}),
            (U32{0x33441122u}));
  EXPECT_EQ(evaluate<uint64_t>("mov.b64 %d, {%a, %b};", U32{1}, U32{2}), (U64{2ull << 32 | 1}));
  EXPECT_EQ(evaluate<uint32_t>(".reg .b32 %lo; mov.b64 {%lo, %d}, %a;", U64{7ull << 32 | 9}), (U32{7}));
}

const char* const kSelect = "selp.b32 %d, 1, 0, %q;";
U32 compared(const std::string& how, const F32& a, const F32& b) {
  return evaluate<uint32_t>("setp." + how + ".f32 %q, %a, %b;" + kSelect, a, b);
}

TEST(Compare, OrderedAndUnordered) {
  const F32 a = {1, 2, 2, kNaN, -0.f}, b = {2, 1, 2, 1, 0.f};
  EXPECT_EQ(compared("lt", a, b), (U32{1, 0, 0, 0, 0}));
  EXPECT_EQ(compared("le", a, b), (U32{1, 0, 1, 0, 1}));
  EXPECT_EQ(compared("gt", a, b), (U32{0, 1, 0, 0, 0}));
  EXPECT_EQ(compared("ge", a, b), (U32{0, 1, 1, 0, 1}));
  EXPECT_EQ(compared("eq", a, b), (U32{0, 0, 1, 0, 1}));
  EXPECT_EQ(compared("ne", a, b), (U32{1, 1, 0, 0, 0}));
  EXPECT_EQ(compared("ltu", a, b), (U32{1, 0, 0, 1, 0}));
  EXPECT_EQ(compared("leu", a, b), (U32{1, 0, 1, 1, 1}));
  EXPECT_EQ(compared("gtu", a, b), (U32{0, 1, 0, 1, 0}));
  EXPECT_EQ(compared("geu", a, b), (U32{0, 1, 1, 1, 1}));
  EXPECT_EQ(compared("equ", a, b), (U32{0, 0, 1, 1, 1}));
  EXPECT_EQ(compared("neu", a, b), (U32{1, 1, 0, 1, 0}));
  EXPECT_EQ(compared("num", a, b), (U32{1, 1, 1, 0, 1}));
  EXPECT_EQ(compared("nan", a, b), (U32{0, 0, 0, 1, 0}));
  EXPECT_EQ(compared("gt.ftz", F32{0x1p-130f}, F32{0}), (U32{0}));
}

TEST(Compare, IntegersBySign) {
  const U32 a = {0xffffffffu, 3}, b = {1, 3};
  EXPECT_EQ(evaluate<uint32_t>(std::string("setp.lt.s32 %q, %a, %b;") + kSelect, a, b), (U32{1, 0}));
  EXPECT_EQ(evaluate<uint32_t>(std::string("setp.lt.u32 %q, %a, %b;") + kSelect, a, b), (U32{0, 0}));
  EXPECT_EQ(evaluate<uint32_t>(std::string("setp.hs.u32 %q, %a, %b;") + kSelect, a, b), (U32{1, 1}));
}

TEST(Compare, JoinsWithAPredicate) {
  const U32 a = {1, 1, 2, 2}, b = {0, 1, 0, 1};  // %q2: b is set
  const std::string head = "setp.ne.s32 %q2, %b, 0;";
  EXPECT_EQ(evaluate<uint32_t>(head + "setp.eq.and.s32 %q, %a, 1, %q2;" + kSelect, a, b), (U32{0, 1, 0, 0}));
  EXPECT_EQ(evaluate<uint32_t>(head + "setp.eq.or.s32 %q, %a, 1, !%q2;" + kSelect, a, b), (U32{1, 1, 1, 0}));
  EXPECT_EQ(evaluate<uint32_t>(head + "setp.eq.xor.s32 %q, %a, 1, %q2;" + kSelect, a, b), (U32{1, 0, 0, 1}));
  EXPECT_EQ(evaluate<uint32_t>("setp.eq.s32 %q2|%q, %a, 1;" + std::string(kSelect), a), (U32{0, 0, 1, 1}));
  EXPECT_EQ(evaluate<uint32_t>(head + "setp.eq.s32 %q, %a, 1; and.pred %q, %q, %q2; not.pred %q, %q;" + kSelect, a, b),
            (U32{1, 0, 1, 1}));
}

TEST(Compare, SetAndSelectBySign) {
  EXPECT_EQ(evaluate<uint32_t>("set.lt.u32.f32 %d, %a, 0f3F800000;", F32{0, 2}), (U32{0xffffffffu, 0}));
  EXPECT_EQ(evaluate<float>("set.lt.f32.f32 %d, %a, 0f3F800000;", F32{0, 2}), (F32{1, 0}));
  EXPECT_EQ(evaluate<uint32_t>("slct.b32.s32 %d, 10, 20, %a;", S32{0, -1, 5}), (U32{10, 20, 10}));
  EXPECT_EQ(evaluate<uint32_t>("slct.b32.f32 %d, 10, 20, %a;", F32{-0.f, -1, kNaN}), (U32{10, 20, 20}));
}

}  // namespace
}  // namespace weft::cuda_device
