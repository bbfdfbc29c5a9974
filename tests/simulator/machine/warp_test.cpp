// SPDX-License-Identifier: Apache-2.0
// Lanes that work together, diverge and reconverge.
#include "tests/simulator/machine/fixture.h"

namespace weft::cuda_device {
namespace {

using U32 = std::vector<uint32_t>;

U32 lanes(uint32_t (*f)(uint32_t)) {
  U32 v;
  for (uint32_t l = 0; l < kLanes; ++l) v.push_back(f(l));
  return v;
}
const U32 kTens = lanes([](uint32_t l) { return 10 * l; });

TEST(Shuffle, AllModes) {
  EXPECT_EQ(evaluate<uint32_t>("shfl.sync.bfly.b32 %d, %a, 16, 31, -1;", kTens),
            lanes([](uint32_t l) { return 10 * (l ^ 16); }));
  EXPECT_EQ(evaluate<uint32_t>("shfl.sync.idx.b32 %d, %a, 5, 31, -1;", kTens), U32(32, 50));
  // shfl up and down keep the lane's own value if the source lane is outside.
  EXPECT_EQ(evaluate<uint32_t>("shfl.sync.up.b32 %d, %a, 3, 0, -1;", kTens),
            lanes([](uint32_t l) { return 10 * (l < 3 ? l : l - 3); }));
  EXPECT_EQ(evaluate<uint32_t>("shfl.sync.down.b32 %d, %a, 3, 31, -1;", kTens),
            lanes([](uint32_t l) { return 10 * (l > 28 ? l : l + 3); }));
}

TEST(Shuffle, Segments) {
  // __shfl_sync(v, 2, 8): segment mask 0x18 in bits 8 to 12, bound 31.
  EXPECT_EQ(evaluate<uint32_t>("shfl.sync.idx.b32 %d, %a, 2, 0x181f, -1;", kTens),
            lanes([](uint32_t l) { return 10 * (l / 8 * 8 + 2); }));
  EXPECT_EQ(evaluate<uint32_t>("shfl.sync.down.b32 %d, %a, 1, 0x181f, -1;", kTens),
            lanes([](uint32_t l) { return 10 * (l % 8 == 7 ? l : l + 1); }));
  EXPECT_EQ(evaluate<uint32_t>("shfl.sync.down.b32 %d|%q, %a, 1, 0x181f, -1; selp.b32 %d, 1, 0, %q;", kTens),
            lanes([](uint32_t l) { return uint32_t(l % 8 != 7); }));
}

TEST(Vote, AllModes) {
  const U32 a = lanes([](uint32_t l) { return uint32_t(l % 3 == 0); });
  const std::string head = "setp.ne.s32 %q, %a, 0;", tail = "selp.b32 %d, 1, 0, %q2;";
  EXPECT_EQ(evaluate<uint32_t>(head + "vote.sync.ballot.b32 %d, %q, -1;", a), U32(32, 0x49249249u));
  EXPECT_EQ(evaluate<uint32_t>(head + "vote.sync.ballot.b32 %d, !%q, -1;", a), U32(32, ~0x49249249u));
  EXPECT_EQ(evaluate<uint32_t>(head + "vote.sync.any.pred %q2, %q, -1;" + tail, a), U32(32, 1));
  EXPECT_EQ(evaluate<uint32_t>(head + "vote.sync.all.pred %q2, %q, -1;" + tail, a), U32(32, 0));
  EXPECT_EQ(evaluate<uint32_t>(head + "vote.sync.uni.pred %q2, %q, -1;" + tail, a), U32(32, 0));
  EXPECT_EQ(evaluate<uint32_t>(head + "vote.sync.uni.pred %q2, %q, -1;" + tail, U32(32, 0)), U32(32, 1));
}

TEST(Match, AnyAndAll) {
  const U32 a = lanes([](uint32_t l) { return l % 2; });
  EXPECT_EQ(evaluate<uint32_t>("match.any.sync.b32 %d, %a, -1;", a),
            lanes([](uint32_t l) { return l % 2 ? 0xaaaaaaaau : 0x55555555u; }));
  EXPECT_EQ(evaluate<uint32_t>("match.all.sync.b32 %d|%q, %a, -1;", a), U32(32, 0));
  EXPECT_EQ(evaluate<uint32_t>("match.all.sync.b32 %d|%q, %a, -1;", U32(32, 7)), U32(32, ~0u));
}

TEST(Redux, AllOperations) {
  EXPECT_EQ(evaluate<uint32_t>("redux.sync.add.u32 %d, %a, -1;", kTens), U32(32, 4960));
  EXPECT_EQ(evaluate<uint32_t>("redux.sync.max.u32 %d, %a, -1;", kTens), U32(32, 310));
  EXPECT_EQ(evaluate<int32_t>("redux.sync.min.s32 %d, %a, -1;", std::vector<int32_t>{3, -9, 4, 5}),
            (std::vector<int32_t>(4, -9)));
  EXPECT_EQ(evaluate<uint32_t>("redux.sync.or.b32 %d, %a, -1;", U32{1, 2, 4, 8}), U32(4, 15));
  EXPECT_EQ(evaluate<uint32_t>("redux.sync.and.b32 %d, %a, -1;", U32{7, 3, 15, 11}), U32(4, 3));
  EXPECT_EQ(evaluate<uint32_t>("redux.sync.xor.b32 %d, %a, -1;", U32{1, 2, 3, 4}), U32(4, 0));
}

// Each lane loops as often as its number says, and all lanes reconverge after the loop.
TEST(Divergence, LanesReconverge) {
  const auto got = evaluate<uint32_t>(
      "mov.u32 %r1, 0;\nLOOP: setp.ge.u32 %q, %r1, %a; @%q bra DONE; add.u32 %r1, %r1, 1; bra.uni LOOP;\n"
      "DONE: vote.sync.ballot.b32 %d, %q, -1; add.u32 %d, %d, %r1;",
      lanes([](uint32_t l) { return l; }));
  EXPECT_EQ(got, lanes([](uint32_t l) { return ~0u + l; }));
}

// Compilers may put the code after a loop before it. Lanes that leave the loop early wait at the vote.
TEST(Divergence, LanesWaitForThoseThatAnInstructionNames) {
  const auto got = evaluate<uint32_t>(
      "mov.u32 %r1, 0; bra.uni LOOP;\nDONE: vote.sync.ballot.b32 %d, %q, -1; add.u32 %d, %d, %r1; bra.uni END;\n"
      "LOOP: setp.ge.u32 %q, %r1, %a; @%q bra DONE; add.u32 %r1, %r1, 1; bra.uni LOOP;\nEND:",
      lanes([](uint32_t l) { return l; }));
  EXPECT_EQ(got, lanes([](uint32_t l) { return ~0u + l; }));
}

// The lanes of each half name one another alone, and meet without the other half, which is still in the loop.
TEST(Divergence, LanesDoNotWaitForOthers) {
  const auto got = evaluate<uint32_t>(
      "mov.u32 %r1, 0; mov.u32 %r2, 0xffff; setp.gt.u32 %q, %a, 1; @%q mov.b32 %r2, 0xffff0000; bra.uni LOOP;\n"
      "DONE: vote.sync.ballot.b32 %d, %q, %r2; bra.uni END;\n"
      "LOOP: setp.ge.u32 %q, %r1, %a; @%q bra DONE; add.u32 %r1, %r1, 1; bra.uni LOOP;\nEND:",
      lanes([](uint32_t l) { return l < 16 ? 1u : 5u; }));
  EXPECT_EQ(got, lanes([](uint32_t l) { return l < 16 ? 0xffffu : 0xffff0000u; }));
}

TEST(Divergence, GuardsWorkLaneByLane) {
  EXPECT_EQ(
      evaluate<uint32_t>("setp.lt.u32 %q, %a, 50; mov.b32 %d, 1; @%q mov.b32 %d, 2; @!%q add.u32 %d, %d, 5;", kTens),
      lanes([](uint32_t l) { return l < 5 ? 2u : 6u; }));
}

TEST(Divergence, ActiveMask) {
  EXPECT_EQ(evaluate<uint32_t>("setp.lt.u32 %q, %a, 50; @%q activemask.b32 %d;", kTens),
            lanes([](uint32_t l) { return l < 5 ? 31u : 0u; }));
}

TEST(SpecialRegisters, AllOfABlock) {
  TestDevice device;
  const std::string body =
      "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;\n"
      "mov.u32 %r5, %ctaid.y; mov.u32 %r6, %nctaid.x; mov.u32 %r7, %ctaid.x; mad.lo.u32 %r8, %r5, %r6, %r7;\n"
      "mov.u32 %r9, %ntid.y; mul.lo.u32 %r10, %r9, %r3; mad.lo.u32 %r11, %r8, %r10, %r4; mul.wide.u32 %rd8, %r11, 4;\n"
      "mov.u32 %r12, %laneid; mov.u32 %r13, %warpid; mad.lo.u32 %r14, %r13, 100, %r12;\n"
      "add.s64 %rd9, %rd0, %rd8; st.global.u32 [%rd9], %r14;";
  const uint64_t out = device.allocate(4 * 6 * 48);
  device.run_body(body, 1, {out}, {3, 2}, {16, 3});
  EXPECT_EQ(device.findings(), "");
  const U32 got = device.get<uint32_t>(out, 6 * 48);
  for (uint32_t k = 0; k < 6 * 48; ++k) ASSERT_EQ(got[k], k % 48 / 32 * 100 + k % 48 % 32) << k;
}

TEST(BlockBarrier, Reduces) {
  TestDevice device;
  const std::string body =
      "setp.lt.u32 %p1, %t, 40; barrier.red.popc.aligned.u32 %r1, 0, %p1;\n"
      "bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, %p1; selp.b32 %r2, 1000, 0, %p2; selp.b32 %r3, 2000, 0, "
      "%p3;\n"
      "add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.s64 %rd9, %rd0, %t8; st.global.u32 [%rd9], %r1;";
  const uint64_t out = device.allocate(4 * 96);
  device.run_body(body, 1, {out}, {1}, {96});
  EXPECT_EQ(device.findings(), "");
  EXPECT_EQ(device.get<uint32_t>(out, 96), U32(96, 2040));
}

}  // namespace
}  // namespace weft::cuda_device
