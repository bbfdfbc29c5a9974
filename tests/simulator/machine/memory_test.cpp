// SPDX-License-Identifier: Apache-2.0
// Device memory without the rest of the machine: allocations, orders between operations, and what it forgets.
#include <gmock/gmock.h>

#include "tests/simulator/machine/fixture.h"

namespace weft::cuda_device {
namespace {

using U32 = std::vector<uint32_t>;
using MemoryDeathTest = testing::Test;

TEST(Memory, GivesOutEachAddressOnce) {
  TestDevice device;
  const uint64_t first = device.allocate(100);
  EXPECT_EQ(first % 256, 0u);
  EXPECT_TRUE(device.memory.free(first));
  EXPECT_FALSE(device.memory.free(first));
  EXPECT_GT(device.allocate(100), first + 100);
}

TEST(Memory, HasAnEnd) {
  TestDevice device({.devices = 2, .bytes_per_device = 1000});
  const uint64_t most = device.memory.allocate(900, 0);
  EXPECT_NE(most, 0u);
  EXPECT_EQ(device.memory.allocate(101, 0), 0u);
  EXPECT_NE(device.memory.allocate(101, 1), 0u);
  EXPECT_EQ(device.memory.used(0), 900u);
  device.memory.free(most);
  EXPECT_EQ(device.memory.used(0), 0u);
  EXPECT_NE(device.memory.allocate(1000, 0), 0u);
}

TEST(Memory, UseAfterFree) {
  TestDevice device;
  const uint64_t at = device.put(U32(8));
  device.memory.free(at);
  device.memory.begin(++device.op, 0);
  EXPECT_EQ(device.memory.read(at, 4, "a copy"), nullptr);
  EXPECT_EQ(device.count(ReportKind::UseAfterFree), 1u);
}

TEST(Memory, RangesAreCheckedToTheByte) {
  TestDevice device;
  const uint64_t at = device.put(std::vector<uint8_t>(37));
  device.memory.begin(++device.op, 0);
  EXPECT_NE(device.memory.read(at, 37, "a copy"), nullptr);
  EXPECT_EQ(device.findings(), "");
  EXPECT_EQ(device.memory.read(at + 1, 37, "a copy"), nullptr);
  EXPECT_EQ(device.count(ReportKind::Bounds), 1u);
}

TEST(Memory, AnotherDevicesMemoryIsOutOfReach) {
  TestDevice device({.devices = 2});
  const uint64_t at = device.memory.allocate(64, 1);
  device.memory.begin(++device.op, 0);
  EXPECT_EQ(device.memory.write(at, 4, "a copy"), nullptr);
  EXPECT_EQ(device.count(ReportKind::Bounds), 1u);
}

TEST(MemoryDeathTest, TheHostCannotTouchDeviceMemory) {
  TestDevice device;
  const uint64_t at = device.put(U32(8));
  auto* pointer = reinterpret_cast<volatile uint32_t*>(at);
  EXPECT_DEATH(*pointer = 1, "");
  EXPECT_TRUE(device.memory.is_device(reinterpret_cast<void*>(at)));
  EXPECT_NE(device.memory.explain_host_access(reinterpret_cast<void*>(at + 4)).find("byte 4 of allocation 1"),
            std::string::npos);
  uint32_t on_the_stack = 0;
  EXPECT_EQ(device.memory.explain_host_access(&on_the_stack), "");
}

TEST(Memory, PinnedMemoryIsSharedWithTheHost) {
  TestDevice device;
  auto* pinned = static_cast<uint32_t*>(device.memory.allocate_pinned(4096));
  pinned[5] = 77;
  device.memory.begin(++device.op, 0);
  const auto address = reinterpret_cast<uint64_t>(pinned);
  uint32_t seen;
  std::memcpy(&seen, device.memory.read(address + 20, 4, "a copy"), 4);
  EXPECT_EQ(seen, 77u);
  const uint32_t written = 99;
  std::memcpy(device.memory.write(address, 4, "a copy"), &written, 4);
  EXPECT_EQ(pinned[0], 99u);
  EXPECT_TRUE(device.memory.is_pinned(pinned + 1));
  EXPECT_FALSE(device.memory.is_pinned(&seen));
  EXPECT_EQ(device.findings(), "");
}

TEST(Memory, RegisteredHostMemory) {
  TestDevice device;
  U32 host(16, 5);
  device.memory.register_host(host.data(), 64);
  device.memory.begin(++device.op, 0);
  EXPECT_EQ(
      reinterpret_cast<const uint32_t*>(device.memory.read(reinterpret_cast<uint64_t>(host.data()), 64, "a copy")),
      host.data());
  EXPECT_TRUE(device.memory.free(reinterpret_cast<uint64_t>(host.data())));
  EXPECT_FALSE(device.memory.is_pinned(host.data()));
  device.memory.register_host(host.data(), 64);
  EXPECT_EQ(device.findings(), "");
}

// Operation 2 writes if `first_writes`, operation 3 if `second_writes`, and nothing orders the two.
size_t races(bool first_writes, bool second_writes, bool apart) {
  TestDevice device;
  const uint64_t at = device.put(U32(64));
  if (apart) device.order.set_apart(2, 3);
  for (const auto& [op, writes] : {std::pair(OpId{2}, first_writes), {OpId{3}, second_writes}}) {
    device.memory.begin(op, 0);
    writes ? void(device.memory.write(at + 6, 100, "a copy")) : void(device.memory.read(at + 6, 100, "a copy"));
  }
  EXPECT_EQ(device.reports.all().size(), device.count(ReportKind::Race));
  return device.count(ReportKind::Race);
}

TEST(Races, BetweenOperations) {
  EXPECT_EQ(races(true, true, true), 1u);
  EXPECT_EQ(races(true, false, true), 1u);
  EXPECT_EQ(races(false, true, true), 1u);
  EXPECT_EQ(races(false, false, true), 0u);
  EXPECT_EQ(races(true, true, false), 0u);
  EXPECT_EQ(races(true, false, false), 0u);
  EXPECT_EQ(races(false, true, false), 0u);
}

// Operations 2 and 3 both read; 4 comes after 3, which does not order 4 after 2.
TEST(Races, AnEarlierReaderIsNotForgottenForALaterOne) {
  TestDevice device;
  const uint64_t at = device.put(U32(64));
  device.order.set_apart(2, 3);
  device.order.set_apart(2, 4);
  for (const OpId op : {2, 3}) {
    device.memory.begin(op, 0);
    device.memory.read(at, 256, "a copy");
  }
  device.memory.begin(4, 0);
  device.memory.write(at + 128, 4, "a copy");
  EXPECT_EQ(device.count(ReportKind::Race), 1u);
  EXPECT_NE(device.findings().find("operation 2"), std::string::npos);
}

TEST(Races, AFreeIsAWrite) {
  TestDevice device;
  const uint64_t at = device.put(U32(64));
  device.order.set_apart(2, 3);
  device.memory.begin(2, 0);
  device.memory.read(at, 256, "a copy");
  device.memory.begin(3, 0);
  EXPECT_TRUE(device.memory.free(at, 3));
  EXPECT_EQ(device.count(ReportKind::Race), 1u);
}

TEST(Races, UseBeforeTheAllocationIsKnown) {
  TestDevice device;
  const uint64_t at = device.memory.allocate(64, 0, 5);
  device.order.set_apart(5, 6);
  device.memory.begin(6, 0);
  EXPECT_EQ(device.memory.write(at, 4, "a copy"), nullptr);
  EXPECT_EQ(device.count(ReportKind::UseAfterFree), 1u);
  device.memory.begin(7, 0);
  EXPECT_NE(device.memory.write(at, 4, "a copy"), nullptr);
}

TEST(Memory, PoisonedIsUninitialised) {
  TestDevice device;
  const uint64_t at = device.put(U32(16, 1));
  device.memory.poison(at + 4, 22);
  device.memory.begin(++device.op, 0);
  device.memory.read(at, 4, "a copy");
  device.memory.read(at + 26, 38, "a copy");
  EXPECT_EQ(device.findings(), "");
  device.memory.read(at + 20, 8, "a copy");
  EXPECT_EQ(device.count(ReportKind::Uninitialised), 1u);
}

// A hundred thousand operations, settled as a program's waits settle them: the list stays short, and settled operations
// are ordered before all others, even if the order says they are not.
TEST(History, ForgetsWhatIsSettled) {
  TestDevice device;
  const uint64_t at = device.put(U32(4));
  size_t longest = 0;
  for (OpId op = 2; op < 100'000; ++op) {
    device.memory.begin(op, 0);
    device.memory.write(at, 16, "a copy");
    if (op % 10 == 0) device.order.settle(op - 5);
    longest = std::max(longest, device.memory.history().size());
  }
  EXPECT_LT(longest, 200u);
  EXPECT_FALSE(device.memory.remembers(50'000));
  EXPECT_TRUE(device.memory.remembers(99'999));
  device.order.settle(99'999);
  device.memory.forget_settled();
  device.order.set_apart(99'999, 100'000);
  device.memory.begin(100'000, 0);
  device.memory.write(at, 16, "a copy");
  EXPECT_EQ(device.findings(), "");
}

TEST(History, KeepsWhatIsNotSettled) {
  TestDevice device;
  const uint64_t at = device.put(U32(4)), other = device.put(U32(4));
  device.memory.begin(3, 0);
  device.memory.write(at, 16, "a copy");
  for (OpId op = 4; op < 1000; ++op) {
    device.memory.begin(op, 0);
    device.memory.write(other, 16, "a copy");
  }
  device.order.set_apart(3, 1000);
  device.memory.begin(1000, 0);
  device.memory.read(at, 16, "a copy");
  EXPECT_EQ(device.count(ReportKind::Race), 1u);
}

// Operations that another is not ordered after are found among many: neighbours are one stretch of runs.
TEST(History, UnorderedNeighboursAreOneStretch) {
  TestOrder order;
  History history;
  std::vector<RunId> firsts = {0};
  for (OpId op = 1; op <= 9; ++op) {
    firsts.push_back(history.begin(op));
    history.next_run();
  }
  for (const OpId op : {2, 3, 4, 7}) order.set_apart(op, 9);
  const std::vector<RunRange> found = history.unordered_before(9, order);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].first, firsts[2]);
  EXPECT_EQ(found[0].end, firsts[5]);
  EXPECT_EQ(found[1].first, firsts[7]);
  EXPECT_EQ(found[1].end, firsts[8]);
}

// The numbers of runs are used up: the history keeps its contents under new numbers.
TEST(History, RenumbersRuns) {
  History history;
  const RunId first = history.begin(7);
  for (int k = 0; k < 1000; ++k) history.next_run();
  const RunId second = history.begin(8);
  const auto renumber = history.renumber();
  EXPECT_EQ(renumber(kNever), kNever);
  EXPECT_EQ(history.op_of(renumber(first + 500)), 7u);
  EXPECT_EQ(history.op_of(renumber(second)), 8u);
  EXPECT_EQ(history.op_of(renumber(kFirstRun)), kBeforeAll);
  EXPECT_LT(history.current_run(), 10u);

  Shadow shadow(64);
  Accessor who{.launch = first, .block = first, .run = first};
  shadow.touch_range(0, 64, Touch::Write, who);
  shadow.touch_range(6, 4, Touch::Read, who);
  shadow.renumber(renumber);
  const RunId now = history.begin(9);
  const std::vector<RunRange> unordered = {{renumber(first), renumber(first) + 1}};
  who = {.launch = now, .block = now, .run = now, .unordered = &unordered};
  EXPECT_EQ(shadow.touch_range(32, 4, Touch::Read, who).why, Conflict::Why::OtherOperation);
  EXPECT_EQ(shadow.touch_range(8, 2, Touch::Write, who).why, Conflict::Why::OtherOperation);
}

// A chunk that was accessed in parts becomes one again after a write of the whole chunk, so parts do not pile up.
TEST(Shadow, PartsJoinAgain) {
  Shadow shadow(1600);
  const Accessor who{.launch = 2, .block = 2, .run = 2};
  for (size_t at = 0; at < 1600; at += 4) shadow.touch(at, 4, Touch::Write, who);
  EXPECT_EQ(shadow.split_chunks(), 100u);
  shadow.touch_range(0, 1600, Touch::Write, who);
  EXPECT_EQ(shadow.split_chunks(), 0u);
}

TEST(ReportsDeathTest, EndTheProgramByDefault) {
  Reports reports(Reports::Policy::Stop);
  EXPECT_EXIT(reports.add(ReportKind::Race, "two of them"), testing::ExitedWithCode(Reports::kExitStatus),
              "simulated CUDA device: race: two of them");
}

TEST(Memory, NamesWhatAnOperationHasWritten) {
  TestDevice device;
  const uint64_t untouched = device.put(U32(8)), at = device.put(U32(64)), freed = device.allocate(64);
  const auto written = [&] {
    std::vector<std::pair<size_t, size_t>> all;
    device.memory.for_each_written([&](size_t offset, std::span<const std::byte> bytes) {
      EXPECT_EQ(bytes.data(), device.memory.alias(*device.memory.find(at), at + offset));
      all.emplace_back(offset, bytes.size());
    });
    return all;
  };
  device.memory.begin(++device.op, 0);
  device.memory.write(at + 200, 6, "the end of it");
  device.memory.write(at + 2, 14, "up to a chunk's end");
  device.memory.write(at + 16, 16, "a chunk");
  device.memory.write(freed, 64, "what is freed");
  device.memory.read(untouched, 32, "another");
  device.memory.free(freed);
  EXPECT_THAT(written(), testing::ElementsAre(std::pair(2, 30), std::pair(200, 6)));
  // The next operation has written neither the bytes between its writes nor those that it reads.
  device.memory.begin(++device.op, 0);
  device.memory.read(at + 16, 16, "a chunk");
  device.memory.write(at, 2, "the first");
  device.memory.write(at + 32, 2, "another");
  EXPECT_THAT(written(), testing::ElementsAre(std::pair(0, 2), std::pair(32, 2)));
  device.memory.begin(++device.op, 0);
  EXPECT_TRUE(written().empty());
}

// Lanes of a warp, and several blocks: the report covers all bytes that the launch wrote.
TEST(Memory, NamesWhatALaunchHasWritten) {
  TestDevice device;
  const uint64_t at = device.allocate(4 * 64 + 4);
  device.run_body(
      "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 32, %t; mul.wide.u32 %rd1, %r2, 4; add.s64 %rd2, %rd0, %rd1;\n"
      "st.global.u32 [%rd2], %r2;",
      1, {at}, {2});
  std::vector<uint32_t> found;
  device.memory.for_each_written([&](size_t offset, std::span<const std::byte> bytes) {
    EXPECT_EQ(offset, 0u);
    found.resize(bytes.size() / 4);
    std::memcpy(found.data(), bytes.data(), bytes.size());
  });
  ASSERT_EQ(found.size(), 64u);
  EXPECT_EQ(found[40], 40u);
}

}  // namespace
}  // namespace weft::cuda_device
