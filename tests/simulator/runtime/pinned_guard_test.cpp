// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/pinned_guard.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace weft::cuda_device {
namespace {

constexpr size_t kPage = 4096;

class Guard : public testing::Test {
 protected:
  Guard()
      : memory(
            static_cast<char*>(mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Guard() override { munmap(memory, 4 * kPage); }
  uint64_t at(size_t byte) const { return reinterpret_cast<uint64_t>(memory) + byte; }
  void let_go(OpId op) {
    guard.release([&](OpId other) { return other == op; });
  }
  // The error that ends a process which accesses this byte; "" if the process survives.
  std::string touch(size_t byte, bool write) {
    std::string wrong;
    return guard.admit(at(byte), write, wrong) ? wrong : "not guarded";
  }
  char* memory;
  PinnedGuard guard;
};

TEST_F(Guard, TheHostMayReadWhatACopyReadsAndMayNotWriteIt) {
  guard.add(1, at(0), 2 * kPage, false, "the upload");
  EXPECT_EQ(memory[5], 0);
  EXPECT_DEATH(memory[5] = 1, "");
  EXPECT_EQ(touch(5, true),
            "the host writes byte 5 of the pinned memory that the upload reads, and has not waited for it");
  memory[5] = 1;  // reported once; then the access succeeds
}
TEST_F(Guard, TheHostMayNotEvenReadWhatACopyWrites) {
  guard.add(1, at(kPage), kPage, true, "the download");
  EXPECT_DEATH(EXPECT_EQ(memory[kPage], 0), "");
  EXPECT_EQ(touch(kPage + 3, false),
            "the host reads byte 3 of the pinned memory that the download writes, and has not waited for it");
  EXPECT_EQ(memory[0], 0);
}
TEST_F(Guard, NeighboursOnAPageAreNoOffence) {
  guard.add(1, at(0), 100, true, "the download");
  EXPECT_EQ(touch(100, true), "");
  memory[100] = 1;
  EXPECT_EQ(touch(kPage, true), "not guarded");
}
TEST_F(Guard, ComesToAnEndWithItsOperationAndNotWithAnother) {
  guard.add(1, at(0), kPage, true, "one");
  guard.add(2, at(0), kPage, false, "two");
  let_go(1);
  EXPECT_EQ(memory[0], 0);
  EXPECT_DEATH(memory[0] = 1, "");
  let_go(2);
  memory[0] = 1;
  EXPECT_EQ(touch(0, true), "not guarded");
}
TEST_F(Guard, CanBePausedForAFunctionOfTheHost) {
  guard.add(1, at(0), kPage, true, "one");
  guard.add(2, at(kPage), kPage, true, "two");
  {
    const PinnedGuard::Pause pause(guard, [](OpId op) { return op == 1; });
    memory[0] = 1;
    EXPECT_DEATH(memory[kPage] = 1, "");
  }
  EXPECT_DEATH(memory[0] = 1, "");
}

}  // namespace
}  // namespace weft::cuda_device
