// SPDX-License-Identifier: Apache-2.0
#include "parallel/session.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

namespace weft {
namespace {

// The number of threads that the environment states, until the end of a test.
class StatedThreads {
 public:
  explicit StatedThreads(const char* number) {
    const char* before = getenv("OMP_NUM_THREADS");
    if (before) before_ = before;
    if (number) {
      setenv("OMP_NUM_THREADS", number, 1);
    } else {
      unsetenv("OMP_NUM_THREADS");
    }
  }
  ~StatedThreads() {
    if (before_.empty()) {
      unsetenv("OMP_NUM_THREADS");
    } else {
      setenv("OMP_NUM_THREADS", before_.c_str(), 1);
    }
  }
  StatedThreads(const StatedThreads&) = delete;
  StatedThreads& operator=(const StatedThreads&) = delete;

 private:
  std::string before_;
};

LocalRanks ranks_of_a_machine(int processors, const std::vector<ProcessorQuota>& quotas) {
  LocalRanks local{.quotas = quotas};
  ProcessorSet all;
  for (int p = 0; p < processors; ++p) all.add(p);
  local.masks.assign(quotas.size(), all);
  return local;
}

TEST(ThreadsForRank, ALimitOfProcessorTimeLeavesFewerThanTheProcessors) {
  const StatedThreads none(nullptr);
  const ProcessorQuota two{.processors = 2, .group = 1};
  EXPECT_EQ(threads_for_rank(ranks_of_a_machine(64, {two})), 2);
  EXPECT_EQ(threads_for_rank(ranks_of_a_machine(64, {two, two})), 1);
  EXPECT_EQ(threads_for_rank(ranks_of_a_machine(64, {{}, {}})), 32);
  EXPECT_EQ(threads_for_rank(ranks_of_a_machine(1, {two})), 1);
}

TEST(ThreadsForRank, ANumberOfTheUserIsUsed) {
  const StatedThreads seven("7");
  EXPECT_EQ(threads_for_rank(ranks_of_a_machine(64, {{.processors = 2, .group = 1}})), 7);
}

}  // namespace
}  // namespace weft
