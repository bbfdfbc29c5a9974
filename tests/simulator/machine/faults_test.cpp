// SPDX-License-Identifier: Apache-2.0
// Every mistake that a kernel can make, made on purpose: the report names its place. The same kernel without the
// mistake has no report.
#include "tests/simulator/machine/fixture.h"

namespace weft::cuda_device {
namespace {

using U32 = std::vector<uint32_t>;

// A body and what must be found in it: only reports of `kind`, at one of `instructions` (a race has two sides, and
// the side that runs later under the schedule is reported); and the repaired body.
struct Wrong {
  const char* name;
  ReportKind kind;
  std::string body, instructions, repaired;
  Dim grid = {1}, block = {32};
};

void PrintTo(const Wrong& w, std::ostream* out) { *out << w.name; }

class Fault : public testing::TestWithParam<Wrong> {
 protected:
  // %rd0: 32 words with values; %rd1: 32 words never written. 256 bytes of shared memory at %r40.
  void run(TestDevice& device, const std::string& body) {
    const uint64_t in = device.put(U32(32, 3)), out = device.allocate(128);
    device.run_body(
        ".shared .align 16 .b8 tile[1024];\nmov.u32 %r40, tile; add.u32 %r41, %r40, %t4;\n"
        "add.s64 %rd10, %rd0, %t8; add.s64 %rd11, %rd1, %t8;\n" +
            body,
        2, {in, out}, GetParam().grid, GetParam().block);
  }
};

TEST_P(Fault, IsReportedInItsKernel) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    TestDevice device;
    device.random.seed(seed);
    run(device, GetParam().body);
    const auto all = device.reports.all();
    EXPECT_FALSE(all.empty());
    for (const Report& r : all) {
      EXPECT_EQ(r.kind, GetParam().kind) << r.sentence;
      EXPECT_EQ(r.kernel, "k");
      EXPECT_NE(GetParam().instructions.find(r.instruction), std::string::npos) << r.sentence;
    }
  }
}

TEST_P(Fault, NoReportWithoutAFault) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    TestDevice device;
    device.random.seed(seed);
    run(device, GetParam().repaired);
    EXPECT_EQ(device.findings(), "");
  }
}

const std::string kStoreTile = "st.shared.u32 [%r41], %t; ", kBarrier = "bar.sync 0; ",
                  kWarpBarrier = "bar.warp.sync -1; ";
// The word of the thread half a block (or half a warp) further.
const std::string kOther =
    "mov.u32 %r1, %ntid.x; shr.u32 %r2, %r1, 1; add.u32 %r3, %t, %r2; rem.u32 %r3, %r3, %r1; mad.lo.u32 %r4, %r3, 4, "
    "%r40; ";
const std::string kLoadOther = "ld.shared.u32 %r5, [%r4]";
const std::string kCopy =
    "and.b32 %r1, %t, 15; mad.lo.u32 %r2, %t, 4, %r40; cp.async.ca.shared.global [%r2], [%rd10], 4; "
    "cp.async.commit_group; ";
// The last of two blocks, by a counter in %rd0, reads what the first one wrote to %rd1.
const std::string kTicket =
    "mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd12, %r1, 4, %rd1; setp.eq.u32 %p1, %t, 0; @!%p1 bra END; st.global.u32 "
    "[%rd12], 7; ";
const std::string kLast =
    "atom.global.add.u32 %r2, [%rd0], 1; setp.ne.u32 %p2, %r2, 4; @%p2 bra END; ld.global.u32 %r3, [%rd1]; "
    "ld.global.u32 %r4, [%rd1+4]";

INSTANTIATE_TEST_SUITE_P(
    Kinds, Fault,
    testing::Values(
        Wrong{"PastTheEnd", ReportKind::Bounds, "ld.global.u32 %r1, [%rd10+4];", "ld.global.u32 %r1, [%rd10+4]",
              "ld.global.u32 %r1, [%rd10];"},
        Wrong{"BeforeTheStart", ReportKind::Bounds, "st.global.u32 [%rd11+-4], %t;", "st.global.u32 [%rd11+-4], %t",
              "st.global.u32 [%rd11], %t;"},
        Wrong{"NoDeviceMemory", ReportKind::Bounds, "mov.u64 %rd12, 4096; ld.global.u32 %r1, [%rd12];",
              "ld.global.u32 %r1, [%rd12]", "ld.global.u32 %r1, [%rd0];"},
        Wrong{"PastSharedMemory", ReportKind::Bounds, "st.shared.u32 [%r41+900], %t;", "st.shared.u32 [%r41+900], %t",
              "st.shared.u32 [%r41+896], %t;"},
        Wrong{"Misaligned", ReportKind::Alignment, "ld.global.v2.u32 {%r1, %r2}, [%rd0+4];",
              "ld.global.v2.u32 {%r1, %r2}, [%rd0+4]", "ld.global.v2.u32 {%r1, %r2}, [%rd0+8];"},
        Wrong{"MisalignedShared", ReportKind::Alignment, "st.shared.u32 [%r41+2], %t;", "st.shared.u32 [%r41+2], %t",
              "st.shared.u32 [%r41+4], %t;"},
        Wrong{"UninitialisedGlobal", ReportKind::Uninitialised, "ld.global.u32 %r1, [%rd11];",
              "ld.global.u32 %r1, [%rd11]", "st.global.u32 [%rd11], %t; ld.global.u32 %r1, [%rd11];"},
        Wrong{"UninitialisedShared", ReportKind::Uninitialised, "ld.shared.u32 %r1, [%r41];",
              "ld.shared.u32 %r1, [%r41]", kStoreTile + "ld.shared.u32 %r1, [%r41];"},
        Wrong{"MissingBarrier",
              ReportKind::Race,
              kStoreTile + kBarrier + kStoreTile + kOther + kWarpBarrier + kLoadOther + ";",
              kLoadOther + "|st.shared.u32 [%r41], %t",
              kStoreTile + kBarrier + kStoreTile + kOther + kBarrier + kLoadOther + ";",
              {1},
              {128}},
        Wrong{"MissingWarpBarrier", ReportKind::Race, kStoreTile + kOther + kLoadOther + ";", kLoadOther,
              kStoreTile + kOther + kWarpBarrier + kLoadOther + ";"},
        Wrong{"MissingBarrierBeforeTheNextRound",
              ReportKind::Race,
              kStoreTile + kOther + kBarrier + kLoadOther + "; st.shared.u32 [%r41], %r1;",
              "st.shared.u32 [%r41], %r1|" + kLoadOther,
              kStoreTile + kOther + kBarrier + kLoadOther + "; bar.sync 0; st.shared.u32 [%r41], %r1;",
              {1},
              {128}},
        Wrong{"LanesWriteOnePlace", ReportKind::Race, "st.shared.u32 [%r40], 1;", "st.shared.u32 [%r40], 1",
              "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [%r40], 1;"},
        Wrong{"BlocksWriteOnePlace",
              ReportKind::Race,
              "st.global.u32 [%rd11], %t;",
              "st.global.u32 [%rd11], %t",
              "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 1; @%p1 st.global.u32 [%rd11], %t;",
              {2}},
        Wrong{"BlockReadsWhatAnotherWrites",
              ReportKind::Race,
              "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 1; @%p1 st.global.u32 [%rd10], %t; @!%p1 ld.global.u32 "
              "%r2, [%rd10];",
              "@%p1 st.global.u32 [%rd10], %t|@!%p1 ld.global.u32 %r2, [%rd10]",
              "ld.global.u32 %r2, [%rd10];",
              {2}},
        Wrong{"CopyNotWaitedFor", ReportKind::AsyncCopy, kCopy + "ld.shared.u32 %r3, [%r2];",
              "ld.shared.u32 %r3, [%r2]", kCopy + "cp.async.wait_group 0; ld.shared.u32 %r3, [%r2];"},
        Wrong{"CopyWaitedForOneGroupShort", ReportKind::AsyncCopy,
              kCopy + "cp.async.wait_group 1; ld.shared.u32 %r3, [%r2];", "ld.shared.u32 %r3, [%r2]",
              kCopy + "cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r3, [%r2];"},
        Wrong{"CopyReadByOthersWithoutBarrier", ReportKind::Race,
              kCopy + kOther + "cp.async.wait_group 0; " + kLoadOther + ";", kLoadOther,
              kCopy + kOther + "cp.async.wait_group 0; " + kWarpBarrier + kLoadOther + ";"},
        Wrong{"CopyOfMoreThanItsDestination", ReportKind::AsyncCopy,
              "cp.async.ca.shared.global [%r41], [%rd10], 4, 8; cp.async.wait_all;",
              "cp.async.ca.shared.global [%r41], [%rd10], 4, 8",
              "cp.async.ca.shared.global [%r41], [%rd10], 4, 4; cp.async.wait_all;"},
        Wrong{"DivergedBarrier", ReportKind::Barrier, "setp.lt.u32 %p1, %t, 16; @%p1 bra L; bar.sync 0; L: ret;",
              "bar.sync 0", "setp.lt.u32 %p1, %t, 16; @%p1 bra L; L: bar.sync 0;"},
        Wrong{"DivergedShuffle", ReportKind::Barrier,
              "setp.lt.u32 %p1, %t, 16; @%p1 shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;",
              "@%p1 shfl.sync.bfly.b32 %r1, %t, 1, 31, -1",
              "setp.lt.u32 %p1, %t, 16; @%p1 shfl.sync.bfly.b32 %r1, %t, 1, 31, 0xffff;"},
        Wrong{"DifferentShuffles", ReportKind::Barrier,
              "setp.lt.u32 %p1, %t, 16; @%p1 bra L; shfl.sync.idx.b32 %r1, %t, 20, 31, -1; bra.uni END; "
              "L: shfl.sync.bfly.b32 %r1, %t, 1, 31, -1; END: ",
              "shfl.sync.idx.b32 %r1, %t, 20, 31, -1|shfl.sync.bfly.b32 %r1, %t, 1, 31, -1",
              "setp.lt.u32 %p1, %t, 16; @%p1 bra L; shfl.sync.idx.b32 %r1, %t, 20, 31, 0xffff0000; bra.uni END; "
              "L: shfl.sync.bfly.b32 %r1, %t, 1, 31, 0xffff; END: "},
        Wrong{"DivergedWarpBarrier", ReportKind::Barrier, "setp.lt.u32 %p1, %t, 16; @%p1 bar.warp.sync -1;",
              "@%p1 bar.warp.sync -1", "setp.lt.u32 %p1, %t, 16; @%p1 bar.warp.sync 0xffff;"},
        Wrong{"PartOfAWarpMultiplies", ReportKind::Barrier,
              "setp.lt.u32 %p1, %t, 16; @%p1 mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, "
              "{%r1, %r2}, {%r3}, {%f0, %f1, %f2, %f3};",
              "@%p1 mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2}, {%r3}, {%f0, "
              "%f1, %f2, %f3}",
              "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2}, {%r3}, {%f0, %f1, "
              "%f2, %f3};"},
        Wrong{"Trap", ReportKind::Trap, "setp.eq.u32 %p1, %t, 5; @%p1 trap;", "@%p1 trap",
              "setp.eq.u32 %p1, %t, 50; @%p1 trap;"},
        Wrong{"MissingFence",
              ReportKind::Race,
              kTicket + kLast + "; END:",
              "ld.global.u32 %r3, [%rd1]|ld.global.u32 %r4, [%rd1+4]",
              kTicket + "membar.gl; " + kLast + "; END:",
              {2}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::cuda_device
