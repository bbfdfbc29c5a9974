// SPDX-License-Identifier: Apache-2.0
// One run owns a run directory; the directory is free again when that run ends, in whatever way.
#include "trainer/run/run_lock.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/log.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::HasSubstr;

TEST(RunLock, HasOneOwnerAndLeavesNothing) {
  const Scratch scratch;
  const fs::path directory = scratch / "deep" / "run";
  {
    auto lock = RunLock::try_take(directory);
    ASSERT_TRUE(lock);
    lock->write(RunOwner::this_process(7));
    EXPECT_FALSE(RunLock::try_take(directory));
    EXPECT_THAT(describe_owner(directory),
                AllOf(HasSubstr("attempt 7"), HasSubstr(fmt::format("process {} on {}", getpid(), host_name())),
                      HasSubstr("since 20")));
  }
  EXPECT_FALSE(fs::exists(scratch / "deep"));
  EXPECT_TRUE(RunLock::try_take(directory));
}

TEST(RunLock, FollowsNoLink) {
  const Scratch scratch;
  const fs::path theirs = scratch.write("theirs", "thesis");
  fs::create_symlink(theirs, scratch / "run.lock");
  EXPECT_THAT(error_of([&] { RunLock::try_take(scratch.path()); }), HasSubstr("run.lock is a link"));
  EXPECT_EQ(read_file(theirs), "thesis");
}

TEST(RunLock, NamesTheSchedulersJob) {
  setenv("SLURM_JOB_ID", "4711", 1);
  EXPECT_EQ(RunOwner::this_process(0).job, "4711");
  unsetenv("SLURM_JOB_ID");
  EXPECT_EQ(RunOwner::this_process(0).job, "");
}

// The parent of a process that owns a directory until it is killed.
class OwnerProcess {
 public:
  explicit OwnerProcess(const fs::path& directory) {
    int ready[2];
    if (pipe(ready) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      const auto lock = RunLock::try_take(directory);
      if (lock) lock->write(RunOwner::this_process(3));
      if (!lock || write(ready[1], "r", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char byte = 0;
    took_ = read(ready[0], &byte, 1) == 1;
    close(ready[0]), close(ready[1]);
  }
  ~OwnerProcess() { kill_it(); }
  void kill_it() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = -1;
  }
  bool took() const { return took_; }
  pid_t pid() const { return child_; }

 private:
  pid_t child_ = -1;
  bool took_ = false;
};

TEST(RunLock, SigkillReleasesTheLock) {
  const Scratch scratch;
  OwnerProcess owner(scratch.path());
  ASSERT_TRUE(owner.took());
  EXPECT_FALSE(RunLock::try_take(scratch.path()));
  owner.kill_it();
  EXPECT_TRUE(fs::exists(scratch / "run.lock"));  // the file is there, without a lock
  EXPECT_TRUE(RunLock::try_take(scratch.path()));
}

// A refused run leaves the save that the owner has under way alone.
TEST(RunLock, ASecondRunIsRefusedAndTouchesNothing) {
  const Scratch scratch;
  SmallRun run(scratch);
  run.train();
  run.job().train.max_steps = 20, run.job().allow_changes = {"train.max_steps"};
  const fs::path under_way = unfinished_path(run.checkpoint(9), 1);
  fs::create_directories(under_way);
  OwnerProcess owner(run.directory());
  ASSERT_TRUE(owner.took());
  run.job().checkpoint.lock_wait_seconds = 0;
  const std::string error = error_of([&] { run.train(); });
  EXPECT_THAT(error, AllOf(HasSubstr(run.directory().string() + " belongs to another run: attempt 3"),
                           HasSubstr(fmt::format("process {} on ", owner.pid()))));
  EXPECT_THROW(run.train(), BusyError);
  EXPECT_TRUE(fs::exists(under_way));
  owner.kill_it();
  EXPECT_EQ(run.train().step, 20);
  EXPECT_FALSE(fs::exists(under_way));
  EXPECT_FALSE(fs::exists(run.directory() / "run.lock"));
}

// A save would make the directory again, beside the one that was renamed, and another run could take it meanwhile.
TEST(RunLock, ADirectoryThatWasRenamedIsNotMadeAgain) {
  const Scratch scratch;
  SmallRun run(scratch);
  const auto rename = [&](int64_t step) {
    if (step == 2) fs::rename(run.directory(), scratch / "renamed");
  };
  EXPECT_THAT(error_of([&] { run.train({}, {}, rename); }), HasSubstr("was renamed or removed while this run used it"));
  EXPECT_FALSE(fs::exists(run.directory()));
  // Nor is the lock of a run that has taken its place removed.
  std::unique_ptr<RunLock> first = RunLock::try_take(scratch / "other");
  fs::rename(scratch / "other", scratch / "moved");
  const std::unique_ptr<RunLock> second = RunLock::try_take(scratch / "other");
  ASSERT_TRUE(second);
  EXPECT_FALSE(first->is_ours());
  first.reset();
  EXPECT_TRUE(second->is_ours());
}

// An owner removes the file of its lock while others have just opened it: each of them sees that the file has lost its
// name, since another may already hold a new one.
TEST(RunLock, TwoWaitersNeverOwnTheDirectoryTogether) {
  const Scratch scratch;
  std::atomic<int> owners{0}, most{0}, taken{0};
  const auto wait_again_and_again = [&] {
    while (taken < 1000) {
      const auto lock = RunLock::try_take(scratch.path());
      if (!lock) continue;
      const int now = ++owners;
      if (now > most) most = now;
      std::this_thread::yield();
      --owners, ++taken;
    }
  };
  std::vector<std::thread> waiters;
  for (int i = 0; i < 3; ++i) waiters.emplace_back(wait_again_and_again);
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(most, 1);
}

TEST(RunLock, ASecondRunWaitsForTheFirst) {
  const Scratch scratch;
  SmallRun run(scratch);
  OwnerProcess owner(run.directory());
  ASSERT_TRUE(owner.took());
  std::thread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    owner.kill_it();
  });
  EXPECT_EQ(run.train().step, 8);  // checkpoint.lock_wait_seconds is three minutes
  ending.join();
}

}  // namespace
}  // namespace weft
