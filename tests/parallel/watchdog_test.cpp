// SPDX-License-Identifier: Apache-2.0
#include "parallel/watch/watchdog.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <regex>
#include <thread>

#include "base/files.h"
#include "base/log.h"
#include "parallel/watch/progress_beats.h"
#include "parallel/watch/standstill.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using std::chrono::milliseconds;

// A watchdog whose report is kept here instead of ending the process.
struct Watched {
  std::shared_ptr<Heartbeat> heartbeat = std::make_shared<Heartbeat>();
  std::promise<std::string> promise;
  std::future<std::string> report = promise.get_future();
  Watchdog watchdog;
  explicit Watched(const PhaseBudgets& budgets)
      : watchdog(heartbeat, {.budgets = budgets, .poll_seconds = 0.01, .on_hang = [this](const std::string& text) {
                               promise.set_value(text);
                             }}) {}
  bool quiet_for(milliseconds time) { return report.wait_for(time) == std::future_status::timeout; }
};

constexpr PhaseBudgets kNever{
    .init_seconds = 0, .step_seconds = 0, .save_seconds = 0, .evaluate_seconds = 0, .storage_seconds = 0};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The report names the rank, its place, the collective, and the key to change.
TEST(Watchdog, ReportsARankThatStandsStill) {
  Watched w({.step_seconds = 0.1});
  w.watchdog.join(3, 0, nullptr);
  const Heartbeat::Scope stepping(*w.heartbeat, RunPhase::Step);
  w.heartbeat->set_step(12);
  w.heartbeat->begin(MeshAxis::Dp, Collective::AllReduce);
  const std::string report = w.report.get();
  EXPECT_TRUE(has(report, "rank 3 " + host_name() + " pid " + std::to_string(getpid()))) << report;
  EXPECT_TRUE(has(report, "phase step, step 12")) << report;
  EXPECT_TRUE(has(report, "this rank itself makes no progress; last collective: all_reduce number 1 over dp"))
      << report;
  EXPECT_TRUE(has(report, "timeouts.step_seconds")) << report;
}

// A rank that leaves does not wait until its watchdog looks again, and one that has just come is at work.
TEST(Watchdog, KeepsNobodyWaitingThoughItLooksSeldom) {
  const std::shared_ptr<NodeStatus> page = NodeStatus::create(2);
  {
    Watchdog watchdog(std::make_shared<Heartbeat>(), {.budgets = kNever, .poll_seconds = 3600});
    watchdog.join(0, 0, page);
    ASSERT_EQ(page->read().size(), 1U);
    EXPECT_LT(page->read()[0].idle_seconds(), 600);
    std::this_thread::sleep_for(milliseconds(100));  // by then it waits
  }
  EXPECT_TRUE(page->read().empty());
}

// A checkpoint is written beside the steps, for minutes. A main thread that hangs meanwhile is reported all the same;
// one that waits for the save is not.
TEST(Watchdog, TheWorkOfAnotherThreadHidesNothing) {
  for (const RunPhase phase : {RunPhase::Step, RunPhase::Save}) {
    Watched w({.step_seconds = 0.3, .save_seconds = 0.3});
    const Heartbeat::Scope scope(*w.heartbeat, phase);
    const std::function<void()> beats = progress_beats(w.heartbeat);
    const uint64_t before = w.heartbeat->read().progress_count;
    beats();
    EXPECT_EQ(w.heartbeat->read().progress_count, before + 1);
    std::atomic<bool> over = false;
    std::thread writer([&] {
      for (; !over; std::this_thread::sleep_for(milliseconds(1))) beats();
    });
    EXPECT_EQ(w.quiet_for(milliseconds(3000)), phase == RunPhase::Save);
    over = true;
    writer.join();
  }
}

TEST(Watchdog, IsQuietWhileTheHeartBeats) {
  Watched w({.init_seconds = 2});
  for (const auto end = std::chrono::steady_clock::now() + milliseconds(2600);
       std::chrono::steady_clock::now() < end;) {
    w.heartbeat->beat();
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(w.quiet_for(milliseconds(0)));
}

// A save that takes longer than a step may take does not exceed the step's budget.
TEST(Watchdog, EveryPhaseHasItsOwnBudget) {
  Watched w({.step_seconds = 0.05, .save_seconds = 0});
  {
    const Heartbeat::Scope stepping(*w.heartbeat, RunPhase::Step);
    const Heartbeat::Scope saving(*w.heartbeat, RunPhase::Save);
    EXPECT_TRUE(w.quiet_for(milliseconds(300)));
  }
  const Heartbeat::Scope stepping(*w.heartbeat, RunPhase::Step);
  EXPECT_TRUE(has(w.report.get(), "phase step"));
}

// A file server that fails over takes longer than a step may.
TEST(Watchdog, AWaitForStorageHasItsOwnBudget) {
  Watched w({.step_seconds = 0.05, .storage_seconds = 1});
  const Heartbeat::Scope stepping(*w.heartbeat, RunPhase::Step);
  const Heartbeat::Scope storing(*w.heartbeat, RunPhase::Storage);
  EXPECT_TRUE(w.quiet_for(milliseconds(300)));
  EXPECT_TRUE(has(w.report.get(), "phase storage"));
}

TEST(Watchdog, TakesOtherBudgets) {
  Watched w(kNever);
  EXPECT_TRUE(w.quiet_for(milliseconds(100)));
  w.watchdog.set_budgets({.init_seconds = 0.2});
  EXPECT_TRUE(has(w.report.get(), "phase init"));
}

// Two ranks of one node, in a group of `ranks` ranks, at the same collective of dp.
struct TwoRanks {
  Watched first, second;
  explicit TwoRanks(int ranks, const PhaseBudgets& budgets = {.init_seconds = 0.1}) : first(budgets), second(kNever) {
    const std::shared_ptr<NodeStatus> mine = NodeStatus::create(2);
    const std::shared_ptr<NodeStatus> theirs = NodeStatus::open(getpid(), mine->descriptor(), 2);
    for (Watched* w : {&first, &second}) {
      w->heartbeat->place(MeshAxis::Dp, 0, ranks);
      for (int i = 0; i < 4; ++i) w->heartbeat->begin(MeshAxis::Dp, Collective::AllReduce);
    }
    first.watchdog.join(0, 0, mine);
    second.watchdog.join(1, 1, theirs);
  }
  void first_waits() {
    first.heartbeat->wait_for(MeshAxis::Dp, Collective::AllReduce,
                              first.heartbeat->begin(MeshAxis::Dp, Collective::AllReduce));
  }
};

TEST(Watchdog, ARankThatWaitsForStorageKeepsOthersWaiting) {
  TwoRanks ranks(2, {.step_seconds = 0.1, .storage_seconds = 1});
  const Heartbeat::Scope stepping(*ranks.first.heartbeat, RunPhase::Step);
  const Heartbeat::Scope storing(*ranks.second.heartbeat, RunPhase::Storage);
  ranks.first_waits();
  EXPECT_TRUE(ranks.first.quiet_for(milliseconds(500)));
  EXPECT_TRUE(has(ranks.first.report.get(), "phase storage"));
}

TEST(Watchdog, NamesTheRankThatHasNotArrived) {
  TwoRanks ranks(2);
  ranks.first_waits();
  const std::string report = ranks.first.report.get();
  EXPECT_TRUE(has(report, "waiting for all_reduce number 5 over dp; not arrived: rank 1 (pid")) << report;
  EXPECT_TRUE(has(report, "last collective: all_reduce number 4 over dp; last progress")) << report;
}

// Rank 0 waits over dp for rank 1, which waits over tp for rank 2, which waits for no rank.
TEST(Watchdog, NamesTheRankBehindTheOneThatHasNotArrived) {
  const std::shared_ptr<NodeStatus> page = NodeStatus::create(3);
  Watched first({.init_seconds = 0.1}), second(kNever), third(kNever);
  int rank = 0;
  for (Watched* w : {&first, &second, &third}) {
    w->heartbeat->place(MeshAxis::Dp, rank == 2 ? 1 : 0, 2);
    w->heartbeat->place(MeshAxis::Tp, rank == 0 ? 0 : 1, 2);
    w->watchdog.join(rank, rank, page);
    ++rank;
  }
  second.heartbeat->wait_for(MeshAxis::Tp, Collective::AllGather,
                             second.heartbeat->begin(MeshAxis::Tp, Collective::AllGather));
  first.heartbeat->wait_for(MeshAxis::Dp, Collective::AllReduce,
                            first.heartbeat->begin(MeshAxis::Dp, Collective::AllReduce));
  const std::string report = first.report.get();
  EXPECT_TRUE(has(report, "not arrived: rank 1 (pid")) << report;
  EXPECT_TRUE(has(report, "waiting for: all_gather number 1 over tp")) << report;
  EXPECT_TRUE(has(report, "; in no collective: rank 2 (pid")) << report;
}

TEST(Watchdog, SaysWhenTheMissingRankIsOnAnotherNode) {
  TwoRanks ranks(4);
  ranks.second.heartbeat->begin(MeshAxis::Dp, Collective::AllReduce);
  ranks.first_waits();
  const std::string report = ranks.first.report.get();
  EXPECT_TRUE(has(report, "2 of 4 ranks are known here and have arrived")) << report;
}

TEST(Watchdog, SlowIsNotHung) {
  TwoRanks ranks(2, {.init_seconds = 2});
  ranks.first_waits();
  for (int i = 0; i < 280; ++i) {
    ranks.second.heartbeat->beat();  // computes for longer than the budget
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(ranks.first.quiet_for(milliseconds(0)));
  EXPECT_TRUE(has(ranks.first.report.get(), "not arrived: rank 1"));  // the rank stands still from here on
}

// The watchdog of a stopped process does not run either, so the process itself is stopped; no phase allows that.
TEST(Watchdog, AStoppedNeighbourEndsTheJobInAnyPhase) {
  const std::shared_ptr<NodeStatus> page = NodeStatus::create(2);
  page->slot(1).rank = 1;
  page->slot(1).pid = getpid();
  Watched w({.init_seconds = 0, .step_seconds = 0.1, .save_seconds = 0, .evaluate_seconds = 0});
  w.watchdog.join(0, 0, page);
  const Heartbeat::Scope saving(*w.heartbeat, RunPhase::Save);
  const std::string report = w.report.get();
  EXPECT_TRUE(has(report, "[rank 0 ")) << report;
  EXPECT_TRUE(has(report, "a rank of this machine has not run for 2 s: rank 1 (pid")) << report;
}

TEST(Watchdog, ANeighbourThatWorksLongOrHasLeftIsNotStopped) {
  const std::shared_ptr<NodeStatus> page = NodeStatus::create(3);
  Watched w({.init_seconds = 0, .step_seconds = 0.1, .save_seconds = 0, .evaluate_seconds = 0}), works(kNever);
  w.watchdog.join(0, 0, page);
  works.watchdog.join(1, 1, page);
  {
    Watched left(kNever);
    left.watchdog.join(2, 2, page);
  }
  const Heartbeat::Scope saving(*w.heartbeat, RunPhase::Save), theirs(*works.heartbeat, RunPhase::Save);
  EXPECT_TRUE(w.quiet_for(milliseconds(3000)));
}

// A device that has queued collectives over dp, and counts how many it has done.
struct Queued {
  std::shared_ptr<std::atomic<uint64_t>> done = std::make_shared<std::atomic<uint64_t>>(0);
  Queued(Heartbeat& heartbeat, int collectives) {
    heartbeat.device().compute_on(1);
    heartbeat.device().watch(MeshAxis::Dp, done);
    for (int i = 0; i < collectives; ++i) {
      const int64_t number = heartbeat.begin(MeshAxis::Dp, Collective::AllReduce);
      heartbeat.device().queue(MeshAxis::Dp, {Collective::AllReduce, number, 400, {"gradient bucket", i}});
    }
  }
};

// Collectives that the host queues meanwhile do not hide a device that stands still.
TEST(Watchdog, ADeviceThatStandsStillIsAHang) {
  Watched w({.init_seconds = 0.3});
  const Queued queued(*w.heartbeat, 3);
  queued.done->store(1);
  for (int i = 0; i < 6000 && w.quiet_for(milliseconds(10)); ++i) w.heartbeat->beat();
  ASSERT_FALSE(w.quiet_for(milliseconds(0)));
  const std::string report = w.report.get();
  EXPECT_TRUE(has(report, " cuda:1 pid ")) << report;
  EXPECT_TRUE(has(report,
                  "waiting for its device, which is at all_reduce number 2 over dp (gradient bucket 1, 400 "
                  "bytes) or on its way there"))
      << report;
}

TEST(Watchdog, WhatTheDeviceDoesIsASignOfLife) {
  Watched w({.init_seconds = 2});
  const Queued queued(*w.heartbeat, 1000);
  for (int i = 0; i < 280; ++i) {
    queued.done->fetch_add(1);
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(w.quiet_for(milliseconds(0)));
}

TEST(Watchdog, NamesTheRankThatHasNotQueuedACollective) {
  TwoRanks ranks(2);
  const Queued mine(*ranks.first.heartbeat, 2), theirs(*ranks.second.heartbeat, 1);
  for (const Queued* queued : {&mine, &theirs}) queued->done->store(1);
  const std::string report = ranks.first.report.get();
  EXPECT_TRUE(has(report,
                  "is at all_reduce number 6 over dp (gradient bucket 1, 400 bytes) or on its way there; not "
                  "arrived: rank 1 (cuda:1, pid"))
      << report;
}

TEST(Watchdog, ReportsTheProgressOfDevicesIfAllRanksQueuedTheCollective) {
  TwoRanks ranks(2);
  const Queued mine(*ranks.first.heartbeat, 2), theirs(*ranks.second.heartbeat, 2);
  const std::string report = ranks.first.report.get();
  EXPECT_TRUE(has(report, "all ranks have queued it, so a device or what connects them hangs: rank 0 (cuda:1, pid"))
      << report;
  EXPECT_TRUE(has(report, "its device has done 0 of 2 collectives over dp")) << report;
}

// Rank 2 shares its collectives over dp with rank 0, whose device waits for rank 1 over tp.
TEST(Standstill, NamesAStoppedRankThatIsInNoneOfItsGroups) {
  const auto rank = [](int number, int group, char state) {
    NodeStatus::Entry entry{.pid = 1, .rank = number, .heard_ns = NodeStatus::now_ns(), .process_state = state};
    constexpr auto kDp = static_cast<size_t>(MeshAxis::Dp);
    entry.at.group[kDp] = group, entry.at.ranks[kDp] = 2, entry.at.device.queued[kDp] = 1;
    return entry;
  };
  const auto text = [](const std::vector<NodeStatus::Entry>& ranks) {
    const std::unique_ptr<NodeStatus> page = NodeStatus::create(1);
    page->tell_of_others(ranks);
    return Standstill(ranks[0].at, DeviceProgress::Awaited{.axis = MeshAxis::Dp, .place = 1}, page.get()).text();
  };
  const std::string stopped = text({rank(2, 0, 'R'), rank(0, 0, 'R'), rank(1, 1, 'T')});
  EXPECT_TRUE(has(stopped, "all ranks have queued it, and a device may wait for one that does not run: rank 1 ("))
      << stopped;
  const std::string running = text({rank(2, 0, 'R'), rank(0, 0, 'R'), rank(1, 1, 'S')});
  EXPECT_TRUE(has(running, "all ranks have queued it, so a device or what connects them hangs: rank 2 (")) << running;
}

TEST(Watchdog, ReleasesHungWaitsAfterItsReport) {
  Watched w({.init_seconds = 0.1});
  std::promise<bool> released;
  w.watchdog.before_end([&] { released.set_value(!w.quiet_for(milliseconds(0))); });
  EXPECT_TRUE(released.get_future().get());
}

TEST(WatchdogDeathTest, EndsTheProcessEvenIfReleasingHangs) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        Watchdog watchdog(std::make_shared<Heartbeat>(), {.budgets = {.init_seconds = 0.1}, .poll_seconds = 0.01});
        watchdog.before_end([] { std::this_thread::sleep_for(std::chrono::hours(1)); });
        std::this_thread::sleep_for(std::chrono::hours(1));
      },
      testing::ExitedWithCode(5), "no progress for . s in phase init");
}

// A terminal that takes no text, as after Ctrl-S, in place of standard error.
void stop_console() {
  int keyboard = -1, terminal = -1;
  ASSERT_EQ(openpty(&keyboard, &terminal, nullptr, nullptr, nullptr), 0);
  ASSERT_EQ(tcflow(terminal, TCOOFF), 0);
  ASSERT_EQ(dup2(terminal, STDERR_FILENO), STDERR_FILENO);
}

TEST(WatchdogDeathTest, EndsTheProcessEvenIfItsConsoleTakesNoText) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const bool in_background : {false, true}) {
    EXPECT_EXIT(
        {
          stop_console();
          if (in_background) console().write_in_background();
          const Watchdog watchdog(std::make_shared<Heartbeat>(),
                                  {.budgets = {.init_seconds = 0.1}, .poll_seconds = 0.01});
          log_warning("the console takes no text");
          std::this_thread::sleep_for(std::chrono::hours(1));
        },
        testing::ExitedWithCode(5), "");
  }
}

TEST(Watchdog, OneRankOfANodeReports) {
  TwoRanks ranks(2, kNever);
  EXPECT_TRUE(ranks.second.watchdog.first_to_report());
  EXPECT_FALSE(ranks.first.watchdog.first_to_report());
  EXPECT_TRUE(ranks.second.watchdog.first_to_report());  // the first rank keeps this role
}

TEST(WatchdogDeathTest, EndsTheProcessWithExitCode5) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const auto heartbeat = std::make_shared<Heartbeat>();
        const Watchdog watchdog(heartbeat, {.budgets = {.evaluate_seconds = 0.1}, .poll_seconds = 0.01});
        const Heartbeat::Scope evaluating(*heartbeat, RunPhase::Evaluate);
        std::this_thread::sleep_for(std::chrono::seconds(60));
      },
      testing::ExitedWithCode(5), "no progress for . s in phase evaluate, before the first step");
}

TEST(WatchdogDeathTest, SaysInTheExitFileWhenAndWhyItEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const test::Scratch scratch;
  setenv("WEFT_EXIT_FILE", (scratch / "exit").c_str(), 0);  // the process that dies has the name of the one that reads
  const fs::path file = getenv("WEFT_EXIT_FILE");
  EXPECT_EXIT(
      {
        const Watchdog watchdog(std::make_shared<Heartbeat>(),
                                {.budgets = {.init_seconds = 0.1}, .poll_seconds = 0.01});
        std::this_thread::sleep_for(std::chrono::hours(1));
      },
      testing::ExitedWithCode(5), "");
  unsetenv("WEFT_EXIT_FILE");
  const std::regex expected(
      R"(5\n\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \[rank 0 .*\] no progress for 0 s in phase init(.|\n)*)");
  EXPECT_TRUE(std::regex_match(read_file(file), expected)) << read_file(file);
}

}  // namespace
}  // namespace weft
