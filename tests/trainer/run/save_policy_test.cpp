// SPDX-License-Identifier: Apache-2.0
// How a run reacts when a save fails, and what it checks before the first save.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/error_of.h"
#include "tests/support/small_disk.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::HasSubstr;

void limit_file_size(rlim_t bytes) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_FSIZE, &limit);
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

// Saves every 10 of `steps` steps. Once the save of step `last_good` is committed, no file may grow beyond 16 KiB,
// which fails checkpoints but not metrics; with `recovers`, the limit ends when the run reports the first failure. A
// save runs beside the steps, which wait for it, the longer the nearer the next save is.
std::string train_with_limit(SmallRun& run, OnFailure policy, int64_t steps, int64_t last_good, bool recovers) {
  run.job().train.max_steps = steps;
  run.job().checkpoint.on_failure = policy, run.job().checkpoint.every_steps = 10;
  bool limited = false, over = false;
  const auto limiter = [&](int64_t step) {
    if (step > last_good && !limited) {
      std::this_thread::sleep_for(std::chrono::milliseconds(4 * (step - last_good) * (step - last_good)));
      limited = !read_metrics(run.directory(), "save").empty() &&
                read_metrics(run.directory(), "save").back()["step"] == last_good;
      if (limited) limit_file_size(16 << 10);
    }
    if (!limited || !recovers || over) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    over = !read_metrics(run.directory(), "save_failed").empty();
    if (over) limit_file_size(RLIM_INFINITY);
  };
  return error_of([&] { run.train({}, {}, limiter); });
}

TEST(SavePolicy, StopEndsTheRunAndKeepsWhatWasSaved) {
  const Scratch scratch;
  SmallRun run(scratch);
  const auto result = in_child([&] {
    const std::string error = train_with_limit(run, OnFailure::Stop, 40, 10, false);
    EXPECT_THAT(error,
                AllOf(HasSubstr("step-00000020 was not saved"), HasSubstr("File too large"), HasSubstr("untouched")));
    EXPECT_EQ(names_in(run.directory() / "checkpoints"), std::vector<std::string>{"step-00000010"});
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
  run.job().train.max_steps = 40;
  EXPECT_EQ(run.train().step, 40);  // the run resumes from that checkpoint
}

TEST(SavePolicy, ContinueTriesAgainAtTheNextSave) {
  const Scratch scratch;
  SmallRun run(scratch), straight(scratch, "straight");
  run.job().checkpoint.keep_last = straight.job().checkpoint.keep_last = 100;
  straight.job().train.max_steps = 100, straight.job().checkpoint.every_steps = 10;
  straight.train();
  const auto result = in_child([&] {
    EXPECT_EQ(train_with_limit(run, OnFailure::Continue, 100, 10, true), "no error");
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
  const auto failures = read_metrics(run.directory(), "save_failed");
  ASSERT_GE(failures.size(), 1u);
  EXPECT_THAT(failures[0]["error"].get<std::string>(), HasSubstr("File too large"));
  EXPECT_FALSE(fs::exists(run.checkpoint(20)));
  EXPECT_EQ(tensor_hashes(run.checkpoint(10)), tensor_hashes(straight.checkpoint(10)));
  EXPECT_EQ(tensor_hashes(run.checkpoint(100)), tensor_hashes(straight.checkpoint(100)));
  EXPECT_EQ(names_in(run.directory() / "checkpoints").size() + failures.size(), 10u);
  for (const auto& line : read_metrics(run.directory(), "save")) {
    for (const char* time : {"stall_ms", "snapshot_ms", "write_ms", "commit_ms"}) {
      EXPECT_GE(line[time].get<double>(), 0) << time;
    }
    EXPECT_GT(line["bytes_per_second"].get<double>(), 0);
  }
}

TEST(SavePolicy, ARunWhoseLastSaveFailsHasFailed) {
  const Scratch scratch;
  SmallRun run(scratch);
  const auto result = in_child([&] {
    EXPECT_THAT(train_with_limit(run, OnFailure::Continue, 40, 20, false), HasSubstr("step-00000040 was not saved"));
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
  EXPECT_EQ(names_in(run.directory() / "checkpoints"), (std::vector<std::string>{"step-00000010", "step-00000020"}));
}

TEST(SavePolicy, TooSmallADiskIsReportedBeforeTheFirstStep) {
  const Scratch scratch;
  SmallRun run(scratch);
  fs::create_directories(run.directory());
  const auto result = on_small_disk(run.directory(), 1 << 20, [&] {
    fill_disk(run.directory(), 350 << 10);
    const std::string error = error_of([&] { run.train(); });
    EXPECT_THAT(error,
                AllOf(HasSubstr((run.directory() / "checkpoints").string()), HasSubstr(" bytes are free, but 12 "),
                      HasSubstr("11 that checkpoint.keep_* keep"), HasSubstr("lower checkpoint.keep_last")));
    EXPECT_FALSE(fs::exists(run.directory() / "metrics.jsonl"));
    // With on_failure: continue the run reports the same error, and trains as far as it can.
    run.job().checkpoint.on_failure = OnFailure::Continue;
    run.job().checkpoint.keep_last = 1;
    EXPECT_EQ(error_of([&] { run.train(); }), "no error");
  });
  if (result == ChildResult::NoMount) GTEST_SKIP() << kNoMount;
  EXPECT_EQ(result, ChildResult::Passed);
}

// A full disk does not stop training because of metrics, which are written again once the disk has room.
TEST(SavePolicy, MetricsOutliveAFullDisk) {
  const Scratch scratch;
  const auto result = on_small_disk(scratch.path(), 64 << 10, [&] {
    MetricsLog log(scratch.path(), "run", 0);
    log.write("train", 1, {});
    log.finish();
    fill_disk(scratch.path(), 0);
    for (int64_t step = 2; step <= 40; ++step) log.write("train", step, {{"filler", std::string(300, 'x')}});
    log.finish();
    fs::remove(scratch / "filler");
    log.write("train", 41, {});
    log.finish();
    const auto lines = read_metrics(scratch.path(), "train");
    EXPECT_LT(lines.size(), 20u);
    EXPECT_EQ(lines.front()["step"], 1);
    EXPECT_EQ(lines.back()["step"], 41);
    const std::string text = read_file(scratch / "metrics.jsonl");
    EXPECT_EQ(std::ranges::count(text, '\n'), static_cast<std::ptrdiff_t>(lines.size()));  // no line is broken in two
  });
  if (result == ChildResult::NoMount) GTEST_SKIP() << kNoMount;
  EXPECT_EQ(result, ChildResult::Passed);
}

}  // namespace
}  // namespace weft
