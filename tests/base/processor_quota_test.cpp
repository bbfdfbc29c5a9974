// SPDX-License-Identifier: Apache-2.0
#include "base/process/processor_quota.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

const int kNone = std::numeric_limits<int>::max();

// The files in which the kernel tells the limits of control groups, in a folder of the test's own.
struct ControlGroups : testing::Test {
  void write(const std::string& path, const std::string& text) {
    const fs::path file = scratch / path;
    fs::create_directories(file.parent_path());
    write_file_atomically(file, text);
  }
  void is_in(const std::string& groups) { write("proc/self/cgroup", groups); }
  ProcessorQuota quota() const { return processor_quota(scratch.path()); }

  Scratch scratch;
};

TEST_F(ControlGroups, QuotaOfVersion2IsRead) {
  is_in("0::/jobs/7\n");
  write("sys/fs/cgroup/jobs/7/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota().processors, 2);
}

TEST_F(ControlGroups, QuotaOfVersion1IsRead) {
  for (const std::string folder : {"cpu,cpuacct", "cpu"}) {
    is_in("5:memory:/docker/1\n4:cpu,cpuacct:/docker/1\n0::/init.scope\n");
    write("sys/fs/cgroup/" + folder + "/docker/1/cpu.cfs_quota_us", "150000\n");
    write("sys/fs/cgroup/" + folder + "/docker/1/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(quota().processors, 1.5) << folder;
    fs::remove_all(scratch / "sys");
  }
}

// Inside a container the path is that of the host, and its own group is the root that it sees.
TEST_F(ControlGroups, ContainerSeesItsGroupAtTheRoot) {
  is_in("0::/../kubepods/pod-3\n");
  write("sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota().processors, 4);
}

TEST_F(ControlGroups, TightestGroupCounts) {
  is_in("0::/jobs/7\n");
  write("sys/fs/cgroup/jobs/7/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/jobs/cpu.max", "300000 100000\n");
  write("sys/fs/cgroup/cpu.max", "900000 100000\n");
  EXPECT_EQ(quota().processors, 3);
}

TEST_F(ControlGroups, MachineWithoutLimitsHasNone) {
  EXPECT_FALSE(quota().limited());
  is_in("4:cpu:/\n0::/\nno groups\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(quota().limited());
  write("sys/fs/cgroup/cpu.max", "");
  EXPECT_FALSE(quota().limited());
}

TEST(ThreadsWithin, PartsOfAQuotaAreRoundedUp) {
  const std::vector<ProcessorQuota> alone{{.processors = 2, .group = 1}};
  EXPECT_EQ(threads_within(alone, 0), 2);
  const std::vector<ProcessorQuota> fraction{{.processors = 1.5, .group = 1}};
  EXPECT_EQ(threads_within(fraction, 0), 2);
  const std::vector<ProcessorQuota> little{{.processors = 0.1, .group = 1}};
  EXPECT_EQ(threads_within(little, 0), 1);
  const std::vector<ProcessorQuota> none{{}};
  EXPECT_EQ(threads_within(none, 0), kNone);
}

TEST(ThreadsWithin, ProcessesOfOneGroupShareItsQuota) {
  const std::vector<ProcessorQuota> quotas{
      {.processors = 4, .group = 1}, {.processors = 4, .group = 1}, {.processors = 3, .group = 2}, {}};
  EXPECT_EQ(threads_within(quotas, 0), 2);
  EXPECT_EQ(threads_within(quotas, 1), 2);
  EXPECT_EQ(threads_within(quotas, 2), 3);
  EXPECT_EQ(threads_within(quotas, 3), kNone);
}

}  // namespace
}  // namespace weft
