// SPDX-License-Identifier: Apache-2.0
#include "base/process/task_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <numeric>
#include <vector>

namespace weft {
namespace {

TEST(TaskThread, DoesWorksInTheirOrderAndKeepsNobodyWaiting) {
  std::vector<int> done;
  std::promise<void> disk;
  TaskThread thread;
  thread.add([&] { disk.get_future().wait(); });
  for (int i = 0; i < 1000; ++i) thread.add([&done, i] { done.push_back(i); });
  disk.set_value();  // reached, though the first work was still waiting
  thread.finish();
  std::vector<int> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(done, expected);
}

TEST(TaskThread, AllIsDoneAtItsEnd) {
  int done = 0;
  {
    TaskThread thread;
    for (int i = 0; i < 1000; ++i) thread.add([&] { ++done; });
  }
  EXPECT_EQ(done, 1000);
}

}  // namespace
}  // namespace weft
