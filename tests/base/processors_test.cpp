// SPDX-License-Identifier: Apache-2.0
#include "base/process/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <initializer_list>
#include <thread>

namespace weft {
namespace {

ProcessorSet set_of(std::initializer_list<int> processors) {
  ProcessorSet set;
  for (const int p : processors) set.add(p);
  return set;
}

ProcessorSet range(int first, int count) {
  ProcessorSet set;
  for (int p = first; p < first + count; ++p) set.add(p);
  return set;
}

std::vector<int> threads_of_all(const std::vector<ProcessorSet>& masks) {
  std::vector<int> threads;
  for (size_t i = 0; i < masks.size(); ++i) threads.push_back(fair_threads(masks, i));
  return threads;
}

TEST(ProcessorSet, HoldsAndListsWhatWasAdded) {
  ProcessorSet set = set_of({0, 1, 2, 3, 8, 63, 64, ProcessorSet::kLimit - 1});
  EXPECT_EQ(set.size(), 8);
  EXPECT_TRUE(set.holds(63));
  EXPECT_FALSE(set.holds(62));
  EXPECT_EQ(set.text(), "0-3,8,63-64,8191");
  EXPECT_EQ(ProcessorSet{}.text(), "");
  set.add(range(2, 4));
  EXPECT_EQ(set.text(), "0-5,8,63-64,8191");
}

TEST(FairThreads, AProcessAloneUsesItsMask) {
  EXPECT_EQ(threads_of_all({range(0, 16)}), (std::vector<int>{16}));
  EXPECT_EQ(threads_of_all({set_of({5})}), (std::vector<int>{1}));
}

TEST(FairThreads, RanksThatAreNotBoundDivideTheMachine) {
  EXPECT_EQ(threads_of_all({range(0, 8), range(0, 8)}), (std::vector<int>{4, 4}));
  EXPECT_EQ(threads_of_all({range(0, 8), range(0, 8), range(0, 8)}), (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(threads_of_all(std::vector<ProcessorSet>(3, range(0, 6))), (std::vector<int>{2, 2, 2}));
}

TEST(FairThreads, RanksWithinOneRestrictedMaskDivideIt) {
  // A container pinned to four processors of a large machine, and one pinned to a single processor.
  EXPECT_EQ(threads_of_all({range(40, 4), range(40, 4)}), (std::vector<int>{2, 2}));
  EXPECT_EQ(threads_of_all({set_of({7}), set_of({7}), set_of({7})}), (std::vector<int>{1, 1, 1}));
}

TEST(FairThreads, BoundRanksKeepTheirOwnProcessors) {
  EXPECT_EQ(threads_of_all({range(0, 4), range(4, 4)}), (std::vector<int>{4, 4}));
  // Two ranks to a socket, two sockets.
  EXPECT_EQ(threads_of_all({range(0, 8), range(0, 8), range(8, 8), range(8, 8)}), (std::vector<int>{4, 4, 4, 4}));
}

TEST(FairThreads, OnlyWhatOverlapsIsShared) {
  EXPECT_EQ(threads_of_all({range(0, 4), range(2, 4)}), (std::vector<int>{3, 3}));
  EXPECT_EQ(threads_of_all({range(0, 2), range(0, 8)}), (std::vector<int>{1, 7}));
}

TEST(AllowedProcessors, FollowsTheAffinityOfTheThread) {
  const ProcessorSet before = allowed_processors();
  ASSERT_GE(before.size(), 1);
  int first = 0;
  while (!before.holds(first)) ++first;
  ProcessorSet bound;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(first), &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) bound = allowed_processors();
  }).join();
  EXPECT_EQ(bound.text(), std::to_string(first));
  EXPECT_EQ(allowed_processors().text(), before.text());
}

}  // namespace
}  // namespace weft
