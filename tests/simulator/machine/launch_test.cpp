// SPDX-License-Identifier: Apache-2.0
// Launches: schedules, synchronisation between blocks, dynamic shared memory, printf and assertions.
#include "tests/simulator/machine/fixture.h"

namespace weft::cuda_device {
namespace {

using U32 = std::vector<uint32_t>;

// Each block takes a ticket from a counter: returns the order of the blocks.
U32 order_of_blocks(uint64_t seed) {
  TestDevice device;
  device.random.seed(seed);
  const uint64_t counter = device.put(U32{0}), out = device.allocate(4 * 16);
  device.run_body(
      "setp.eq.u32 %p1, %t, 0; mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd8, %r1, 4, %rd1;\n"
      "@%p1 atom.global.add.u32 %r2, [%rd0], 1; @%p1 st.global.u32 [%rd8], %r2;",
      2, {counter, out}, {16});
  EXPECT_EQ(device.findings(), "");
  return device.get<uint32_t>(out, 16);
}

TEST(Schedule, IsTheSeeds) {
  EXPECT_EQ(order_of_blocks(3), order_of_blocks(3));
  EXPECT_NE(order_of_blocks(3), order_of_blocks(4));
}

// Every warp increments a word of shared memory that all others read, between barriers: the sum is the same whatever
// the schedule.
TEST(Schedule, BarriersHoldWhateverTheSeed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    TestDevice device;
    device.random.seed(seed);
    const uint64_t out = device.allocate(4 * 128);
    device.run_body(
        "mov.u32 %r1, dynamic; add.u32 %r2, %r1, %t4; mov.u32 %r3, %t; mov.u32 %r4, 64;\n"
        "AGAIN: st.shared.u32 [%r2], %r3; bar.sync 0; xor.b32 %r5, %t, %r4; mad.lo.u32 %r6, %r5, 4, %r1;\n"
        "ld.shared.u32 %r7, [%r6]; add.u32 %r3, %r3, %r7; bar.sync 0; shr.u32 %r4, %r4, 1;\n"
        "setp.ne.u32 %p1, %r4, 0; @%p1 bra AGAIN; add.s64 %rd9, %rd0, %t8; st.global.u32 [%rd9], %r3;",
        1, {out}, {1}, {128}, 512);
    EXPECT_EQ(device.findings(), "");
    EXPECT_EQ(device.get<uint32_t>(out, 128), U32(128, 127 * 64));
  }
}

// "Last block finishes": each block writes its part, fences and takes a ticket; the threads of the last block add up
// all parts behind a barrier, and reset the counter. Without the fence this is a race (faults_test.cpp).
TEST(Synchronisation, TheLastBlockMayReadWhatOthersPublished) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    TestDevice device;
    device.random.seed(seed);
    const uint64_t counter = device.put(U32{0}), parts = device.allocate(4 * 64 * 8), sum = device.put(U32{0});
    device.run_body(
        ".shared .align 4 .b8 flag[4];\nmov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 64, %t; mad.wide.u32 %rd8, %r2, 4, "
        "%rd1;\n"
        "st.global.u32 [%rd8], %r2; membar.gl; bar.sync 0; setp.ne.u32 %p1, %t, 0; mov.u32 %r5, flag; @%p1 bra WAIT;\n"
        "atom.global.add.u32 %r3, [%rd0], 1; st.shared.u32 [%r5], %r3;\nWAIT: bar.sync 0; ld.shared.u32 %r3, [%r5];\n"
        "setp.ne.u32 %p2, %r3, 7; @%p2 bra END; mov.u32 %r6, 0; mov.u32 %r7, 0;\n"
        "NEXT: mad.lo.u32 %r8, %r6, 64, %t; mad.wide.u32 %rd9, %r8, 4, %rd1; ld.global.u32 %r9, [%rd9]; add.u32 %r7, "
        "%r7, %r9;\n"
        "add.u32 %r6, %r6, 1; setp.lt.u32 %p3, %r6, 8; @%p3 bra NEXT; red.global.add.u32 [%rd2], %r7;\n"
        "@!%p1 st.global.u32 [%rd0], 0;\nEND:",
        3, {counter, parts, sum}, {8}, {64});
    EXPECT_EQ(device.findings(), "");
    EXPECT_EQ(device.get<uint32_t>(counter, 1)[0], 0u);
    EXPECT_EQ(device.get<uint32_t>(sum, 1)[0], 511u * 512 / 2);
  }
}

TEST(Launch, DynamicSharedMemoryEndsWhereTheLaunchSays) {
  const auto run = [](size_t bytes) {
    TestDevice device;
    device.run_body("mov.u32 %r1, dynamic; add.u32 %r2, %r1, %t4; st.shared.u32 [%r2], %t;", 0, {}, {1}, {32}, bytes);
    return device.count(ReportKind::Bounds);
  };
  EXPECT_EQ(run(128), 0u);
  EXPECT_EQ(run(124), 1u);
}

TEST(Launch, SharedMemoryDoesNotOutliveABlock) {
  TestDevice device;
  device.run_body(
      "mov.u32 %r1, dynamic; mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 0; add.u32 %r3, %r1, %t4;\n"
      "@%p1 st.shared.u32 [%r3], %t; ld.shared.u32 %r4, [%r3];",
      0, {}, {2}, {32}, 128);
  EXPECT_EQ(device.count(ReportKind::Uninitialised), 1u);
  EXPECT_EQ(device.reports.all().size(), 1u);
}

// A register and a local variable that the block itself has not written hold no value of the block before.
TEST(Launch, RegistersAndLocalMemoryDoNotOutliveABlock) {
  TestDevice device;
  const uint64_t out = device.allocate(4 * 8);
  device.run_body(
      ".local .align 4 .b8 stack[4];\nmov.u64 %rd8, stack; ld.local.u32 %r1, [%rd8]; mov.u32 %r3, %ctaid.x;\n"
      "mad.wide.u32 %rd9, %r3, 8, %rd0; setp.eq.u32 %p1, %t, 0; @%p1 st.global.v2.u32 [%rd9], {%r1, %r2};\n"
      "mov.u32 %r2, 5; st.local.u32 [%rd8], 5;",
      1, {out}, {4});
  EXPECT_EQ(device.findings(), "");
  EXPECT_EQ(device.get<uint32_t>(out, 8), U32(8, 0xffffffffu));
}

// printf as nvcc calls it: format and values as parameters in local memory.
TEST(Launch, PrintfPrints) {
  TestDevice device;
  testing::internal::CaptureStdout();
  device.run(
      kPtxHead +
          ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
          ".global .align 1 .b8 text[14] = {118, 32, 61, 32, 37, 100, 32, 37, 46, 50, 102, 33, 10, 0};\n"  // "v = %d
                                                                                                           // %.2f!\n"
          ".visible .entry k() {\n.local .align 8 .b8 depot[16];\n.reg .b64 %rd<6>;\n.reg .b32 %r<4>;\n.reg .f64 "
          "%fd<2>;\n"
          "mov.u64 %rd1, depot; cvta.local.u64 %rd2, %rd1; mov.u32 %r1, 42; st.local.u32 [%rd1], %r1;\n"
          "mov.f64 %fd1, 0d3FF8000000000000; st.local.f64 [%rd1+8], %fd1; mov.u64 %rd3, text; cvta.global.u64 %rd4, "
          "%rd3;\n"
          "{\n.param .b64 param0;\nst.param.b64 [param0+0], %rd4;\n.param .b64 param1;\nst.param.b64 [param1+0], "
          "%rd2;\n"
          ".param .b32 retval0;\ncall.uni (retval0), vprintf, (param0, param1);\nld.param.b32 %r2, "
          "[retval0+0];\n}\nret;\n}\n",
      "k", {1}, {2}, {});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "v = 42 1.50!\nv = 42 1.50!\n");
}

TEST(Launch, SaysWhatParametersAreMissing) {
  TestDevice device;
  Launch launch;
  const auto place = [](const std::string&, std::span<const std::byte>, size_t) { return uint64_t{0}; };
  launch.kernel = parse_module(kPtxHead + ".entry k(.param .u64 a, .param .u32 b) { ret; }", place).kernels.at("k");
  EXPECT_THROW(run_launch(launch, device.memory, device.random), std::runtime_error);
}

}  // namespace
}  // namespace weft::cuda_device
