// SPDX-License-Identifier: Apache-2.0
// Loads, stores, copies that finish later, atomics, module variables; and their costs.
#include <numeric>

#include "tests/simulator/machine/fixture.h"

namespace weft::cuda_device {
namespace {

using U32 = std::vector<uint32_t>;

U32 counting(size_t n) {
  U32 v(n);
  std::iota(v.begin(), v.end(), 1u);
  return v;
}

TEST(LoadStore, VectorsOfAllWidths) {
  for (const auto& [bytes, count] : {std::pair(2, 1), {2, 2}, {2, 4}, {4, 1}, {4, 2}, {4, 4}, {8, 1}, {8, 2}}) {
    TestDevice device;
    const std::string type = ".b" + std::to_string(8 * bytes), vector = count > 1 ? ".v" + std::to_string(count) : "";
    const std::string prefix = bytes == 2 ? "%h" : bytes == 4 ? "%r" : "%rd1";
    std::string registers;
    for (int k = 0; k < count; ++k) registers += (k ? ", " : "") + prefix + std::to_string(k);
    const std::string stride = std::to_string(bytes * count);
    const size_t words = size_t(bytes * count * kLanes) / 4;
    const uint64_t in = device.put(counting(words)), out = device.allocate(4 * words);
    device.run_body("mad.wide.u32 %rd8, %t, " + stride + ", %rd0; mad.wide.u32 %rd9, %t, " + stride +
                        ", %rd1;\nld.global.nc" + vector + type + " {" + registers + "}, [%rd8];\nst.global" + vector +
                        type + " [%rd9], {" + registers + "};",
                    2, {in, out});
    EXPECT_EQ(device.findings(), "");
    EXPECT_EQ(device.get<uint32_t>(out, words), counting(words)) << bytes << " x " << count;
  }
}

TEST(LoadStore, NarrowElementsExtend) {
  TestDevice device;
  const uint64_t in = device.put(std::vector<uint8_t>{0x80, 0x7f, 0xff, 0xff}), out = device.allocate(24);
  device.run_body(
      "ld.global.s8 %r1, [%rd0]; ld.global.u8 %r2, [%rd0]; ld.global.s16 %r3, [%rd0+2]; ld.global.u16 %r4, [%rd0+2];\n"
      "ld.global.s8 %rd8, [%rd0]; setp.eq.u32 %p1, %t, 0;\n"
      "@%p1 st.global.v4.b32 [%rd1], {%r1, %r2, %r3, %r4}; @%p1 st.global.b64 [%rd1+16], %rd8;",
      2, {in, out});
  EXPECT_EQ(device.findings(), "");
  EXPECT_EQ(device.get<uint32_t>(out, 6), (U32{0xffffff80u, 0x80, 0xffffffffu, 0xffff, 0xffffff80u, 0xffffffffu}));
}

// Only odd lanes, and lanes in reverse: two ways in which the lanes' addresses are not consecutive.
TEST(LoadStore, ScatteredLanes) {
  TestDevice device;
  const uint64_t in = device.put(counting(32)), out = device.put(U32(32, 0));
  device.run_body(
      "and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 1; sub.u32 %r2, 31, %t; mad.wide.u32 %rd8, %r2, 4, %rd0;\n"
      "add.s64 %rd9, %rd1, %t8; @%p1 ld.global.u32 %r3, [%rd8]; @%p1 st.global.u32 [%rd9], %r3;",
      2, {in, out});
  EXPECT_EQ(device.findings(), "");
  const U32 got = device.get<uint32_t>(out, 32);
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(got[l], l % 2 ? 32 - l : 0);
}

TEST(LoadStore, GenericAddressesOfAllMemories) {
  TestDevice device;
  const uint64_t in = device.put(counting(32)), out = device.allocate(128);
  device.run_body(
      ".shared .align 4 .b8 tile[128];\n.local .align 8 .b8 own[16];\n"
      "mov.u64 %rd2, tile; cvta.shared.u64 %rd3, %rd2; add.s64 %rd3, %rd3, %t8;\n"
      "mov.u64 %rd4, own; cvta.local.u64 %rd5, %rd4; add.s64 %rd6, %rd0, %t8; add.s64 %rd7, %rd1, %t8;\n"
      "ld.u32 %r1, [%rd6]; st.u32 [%rd3], %r1; ld.u32 %r2, [%rd3]; st.u32 [%rd5+8], %r2; ld.local.u32 %r3, [%rd4+8];\n"
      "cvta.to.shared.u64 %rd8, %rd3; ld.shared.u32 %r4, [%rd8]; add.u32 %r3, %r3, %r4; st.u32 [%rd7], %r3;",
      2, {in, out});
  EXPECT_EQ(device.findings(), "");
  EXPECT_EQ(device.get<uint32_t>(out, 3), (U32{2, 4, 6}));
}

TEST(LoadStore, ModuleVariables) {
  TestDevice device;
  const uint64_t out = device.allocate(8);
  device.run(kPtxHead +
                 ".const .align 4 .u32 table[2] = {11, 0x16};\n.global .align 4 .f32 scale = 0f40000000;\n"
                 ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n.reg .f32 %f<4>;\n"
                 "ld.param.u64 %rd1, [p]; ld.const.u32 %r1, [table+4]; ld.global.f32 %f1, [scale];\n"
                 "st.global.u32 [%rd1], %r1; st.global.f32 [%rd1+4], %f1; ret;\n}\n",
             "k", {1}, {1}, {out});
  EXPECT_EQ(device.findings(), "");
  EXPECT_EQ(device.get<uint32_t>(out, 2), (U32{22, 0x40000000u}));
  EXPECT_TRUE(device.variables.contains("table") && device.variables.contains("scale"));
}

// Two groups of copies of 16, 8 and 4 bytes; the first is read while the second is in flight.
TEST(AsyncCopy, GroupsLandInOrder) {
  TestDevice device;
  const uint64_t in = device.put(counting(32 * 8)), out = device.allocate(32 * 32);
  device.run_body(
      ".shared .align 16 .b8 tile[2048];\nmov.u32 %r1, tile; mad.lo.u32 %r2, %t, 32, %r1; mad.wide.u32 %rd8, %t, 32, "
      "%rd0;\n"
      "cp.async.cg.shared.global [%r2], [%rd8], 16; cp.async.commit_group;\n"
      "cp.async.ca.shared.global.L2::128B [%r2+16], [%rd8+16], 8; cp.async.ca.shared.global [%r2+24], [%rd8+24], 4;\n"
      "cp.async.ca.shared.global [%r2+28], [%rd8+28], 4; cp.async.commit_group;\n"
      "cp.async.wait_group 1; ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2]; cp.async.wait_group 0;\n"
      "ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [%r2+16]; mad.wide.u32 %rd9, %t, 32, %rd1;\n"
      "st.global.v4.u32 [%rd9], {%r3, %r4, %r5, %r6}; st.global.v4.u32 [%rd9+16], {%r7, %r8, %r9, %r10};",
      2, {in, out});
  EXPECT_EQ(device.findings(), "");
  EXPECT_EQ(device.get<uint32_t>(out, 32 * 8), counting(32 * 8));
}

// Lane l copies l % 5 words of four: the other words are zero, and nothing past the end of the source is read.
TEST(AsyncCopy, FillsWithZeros) {
  TestDevice device;
  const uint64_t in = device.put(counting(31 * 4 + 1)), out = device.allocate(32 * 16);
  device.run_body(
      ".shared .align 16 .b8 tile[512];\nmov.u32 %r1, tile; mad.lo.u32 %r2, %t, 16, %r1; mad.wide.u32 %rd8, %t, 16, "
      "%rd0;\n"
      "rem.u32 %r3, %t, 5; shl.b32 %r3, %r3, 2; cp.async.cg.shared.global [%r2], [%rd8], 16, %r3; cp.async.wait_all;\n"
      "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2]; mad.wide.u32 %rd9, %t, 16, %rd1;\n"
      "st.global.v4.u32 [%rd9], {%r3, %r4, %r5, %r6};",
      2, {in, out});
  EXPECT_EQ(device.findings(), "");
  const U32 got = device.get<uint32_t>(out, 128);
  for (uint32_t k = 0; k < 128; ++k) EXPECT_EQ(got[k], k % 4 < k / 4 % 5 ? k + 1 : 0) << k;
}

TEST(Atomics, AllOperations) {
  const auto run = [](const std::string& operation, uint32_t start, const std::string& value) {
    TestDevice device;
    const uint64_t at = device.put(U32{start});
    device.run_body("red.global." + operation + " [%rd0], " + value + ";", 1, {at}, {2});
    EXPECT_EQ(device.findings(), "") << operation;
    return device.get<uint32_t>(at, 1)[0];
  };
  EXPECT_EQ(run("add.u32", 5, "%t"), 5 + 2 * 496u);
  EXPECT_EQ(run("max.u32", 5, "%t"), 31u);
  EXPECT_EQ(run("min.s32", 5, "-3"), uint32_t(-3));
  EXPECT_EQ(run("or.b32", 1, "4"), 5u);
  EXPECT_EQ(run("and.b32", 7, "5"), 5u);
  EXPECT_EQ(run("inc.u32", 0, "9"), 64 % 10u);
  EXPECT_EQ(run("dec.u32", 3, "9"), 9u);
  EXPECT_EQ(run("add.f32", 0, "0f3F000000"), std::bit_cast<uint32_t>(32.f));
}

TEST(Atomics, ReturnTheOldValue) {
  TestDevice device;
  const uint64_t counter = device.put(U32{100, 7}), out = device.allocate(128);
  device.run_body(
      "atom.global.add.u32 %r1, [%rd0], 1; atom.global.cas.b32 %r2, [%rd0+4], 7, 9; atom.global.exch.b32 %r3, "
      "[%rd0+4], 9;\n"
      "add.s64 %rd9, %rd1, %t8; st.global.u32 [%rd9], %r1;",
      2, {counter, out});
  EXPECT_EQ(device.findings(), "");
  U32 got = device.get<uint32_t>(out, 32);
  std::ranges::sort(got);
  for (uint32_t k = 0; k < 32; ++k) EXPECT_EQ(got[k], 100 + k);
  EXPECT_EQ(device.get<uint32_t>(counter, 2), (U32{132, 9}));
}

TEST(Traffic, CountsSectorsByWidth) {
  TestDevice device;
  const uint64_t in = device.put(counting(32 * 8)), out = device.allocate(128);
  const Counters c = device.run_body(
      "mad.wide.u32 %rd8, %t, 16, %rd0; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd8];\n"
      "mad.wide.u32 %rd9, %t, 32, %rd0; ld.global.u32 %r5, [%rd9]; ld.global.u32 %r6, [%rd0];\n"
      "add.s64 %rd9, %rd1, %t8; st.global.u32 [%rd9], %r1;",
      2, {in, out});
  EXPECT_EQ(c.loads[4].requests, 1u);  // 16 bytes a lane
  EXPECT_EQ(c.loads[4].sectors, 16u);
  EXPECT_EQ(c.loads[4].wanted_bytes, 512u);
  EXPECT_EQ(c.loads[2].requests, 2u);  // one request with a sector for each lane, one with the same sector for all
  EXPECT_EQ(c.loads[2].sectors, 33u);
  EXPECT_EQ(c.stores[2].sectors, 4u);
  EXPECT_EQ(c.global().requests, 4u);
  EXPECT_EQ(c.launches, 1u);
}

// The first of two waits leaves the second copy in flight, the second none.
TEST(Traffic, CountsWaitsThatLeaveCopiesInFlight) {
  TestDevice device;
  const uint64_t in = device.put(counting(64));
  const std::string copy = "cp.async.ca.shared.global ", commit = " cp.async.commit_group;\n";
  const Counters c = device.run_body(
      ".shared .align 16 .b8 tile[256];\nmov.u32 %r1, tile; mad.lo.u32 %r2, %t, 4, %r1; mad.wide.u32 %rd8, %t, 4, "
      "%rd0;\n" +
          copy + "[%r2], [%rd8], 4;" + commit + copy + "[%r2+128], [%rd8+128], 4;" + commit +
          "cp.async.wait_group 1; cp.async.wait_group 0; bar.warp.sync -1; ldmatrix.sync.aligned.m8n8.x1.shared.b16 "
          "{%r3}, [%r1];",
      1, {in});
  EXPECT_EQ(device.findings(), "");
  EXPECT_EQ(c.copy_waits, 2u);
  EXPECT_EQ(c.waits_with_copies_in_flight, 1u);
  EXPECT_EQ(c.matrix_loads, 1u);
}

// Columns of a tile of 32 x 32 words: all in one bank, unless rows are 33 words long. 16 bytes a lane take at least
// 4 cycles.
TEST(Traffic, CountsBankConflicts) {
  const auto cycles = [](const std::string& address, const std::string& load) {
    TestDevice device;
    const Counters c = device.run_body("mov.u32 %r1, dynamic; " + address + " add.u32 %r2, %r2, %r1;\n" + load, 0, {},
                                       {1}, {32}, 32768);
    return std::pair(c.shared_cycles, c.shared_least_cycles);
  };
  const std::string word = "st.shared.u32 [%r2], %t;", four = "st.shared.v4.u32 [%r2], {%t, %t, %t, %t};";
  EXPECT_EQ(cycles("mul.lo.u32 %r2, %t, 4;", word), std::pair(uint64_t{1}, uint64_t{1}));
  EXPECT_EQ(cycles("mul.lo.u32 %r2, %t, 128;", word), std::pair(uint64_t{32}, uint64_t{1}));
  EXPECT_EQ(cycles("mul.lo.u32 %r2, %t, 132;", word), std::pair(uint64_t{1}, uint64_t{1}));
  EXPECT_EQ(cycles("mul.lo.u32 %r2, %t, 16;", four), std::pair(uint64_t{4}, uint64_t{4}));
  EXPECT_EQ(cycles("mul.lo.u32 %r2, %t, 32;", four), std::pair(uint64_t{8}, uint64_t{4}));
}

}  // namespace
}  // namespace weft::cuda_device
