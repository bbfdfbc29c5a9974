// SPDX-License-Identifier: Apache-2.0
// Progress lines that people read, and that a log file can hold.
#include "base/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>

namespace weft {
namespace {

// The text that `body` writes to standard error when standard error is a file.
template <class F>
std::string written(F&& body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

TEST(Progress, AFileGetsWholeLines) {
  const std::string text = written([] {
    Progress progress(true, 0);
    progress.show("step 1/3");
    progress.show("step 2/3");
    progress.clear();
    progress.show("step 3/3", true);
  });
  EXPECT_EQ(text, "step 1/3\nstep 2/3\nstep 3/3\n");
}

TEST(Progress, AFileGetsNothingBetweenLines) {
  const std::string text = written([] {
    Progress progress(true, 3600);
    for (int i = 1; i <= 1000; ++i) progress.show("step " + std::to_string(i), i == 1000);
  });
  EXPECT_EQ(text, "step 1\nstep 1000\n");
}

TEST(Progress, OtherRanksAreSilent) {
  EXPECT_EQ(written([] { Progress(false, 0).show("step 1", true); }), "");
}

TEST(Progress, ATerminalHasOneLineRewritten) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) GTEST_SKIP() << "no pseudo-terminal here";
  const int other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  if (other < 0) GTEST_SKIP() << "no pseudo-terminal here";
  const int kept = dup(STDERR_FILENO);
  dup2(other, STDERR_FILENO);
  {
    Progress progress(true);
    progress.show("step 1/2");
    progress.show("step 2/2");
    progress.clear();
    progress.clear();  // no line is open any more
  }
  dup2(kept, STDERR_FILENO);
  close(kept);
  std::string text;
  pollfd waiting{.fd = terminal, .events = POLLIN, .revents = 0};
  while (poll(&waiting, 1, 300) > 0 && (waiting.revents & POLLIN)) {
    char piece[100];
    const ssize_t n = read(terminal, piece, sizeof piece);
    if (n <= 0) break;
    text.append(piece, static_cast<size_t>(n));
  }
  close(other), close(terminal);
  EXPECT_EQ(text, "\r\x1b[Kstep 1/2\r\x1b[Kstep 2/2\r\n");  // the terminal itself puts \r before \n
}

// A job with a clock of its own: steps that take a given time each.
struct TimedJob {
  Pace pace;
  double done = 0, time = 0;

  void steps(int count, double seconds) {
    for (int i = 0; i < count; ++i) pace.reach(++done, time += seconds);
  }
};

TEST(Pace, IsUnknownUntilWorkIsDoneBetweenTwoMarks) {
  TimedJob job;
  EXPECT_EQ(job.pace.per_second(), 0);
  EXPECT_TRUE(std::isnan(job.pace.seconds_left(100)));
  job.steps(1, 5);
  EXPECT_TRUE(std::isnan(job.pace.seconds_left(100)));
  EXPECT_EQ(job.pace.seconds_left(1), 0) << "all work is done, whatever its pace was";
  job.pace.reach(1, 6);
  EXPECT_TRUE(std::isnan(job.pace.seconds_left(100))) << "a second passed, but no work was done";
  job.steps(1, 2);
  EXPECT_GT(job.pace.seconds_left(100), 0);
}

TEST(Pace, WarmUpAgesOut) {
  TimedJob job;
  job.pace.reach(0, 0);
  job.steps(1, 50);  // the first step allocates and tunes
  EXPECT_EQ(job.pace.seconds_left(101), 5000);
  job.steps(61, 1);
  EXPECT_DOUBLE_EQ(job.pace.per_second(), 1);
  EXPECT_DOUBLE_EQ(job.pace.seconds_left(162), 100);
}

TEST(Pace, FollowsTheLastMinute) {
  TimedJob job;
  job.steps(100'000, 0.01);
  EXPECT_NEAR(job.pace.per_second(), 100, 1e-6);
  job.steps(3'000, 0.02);
  EXPECT_NEAR(job.pace.per_second(), 50, 1);  // the minute begins at a mark that is up to 0.3 s older
}

TEST(Pace, StepsLongerThanTheWindowAreMeasuredOneByOne) {
  TimedJob job;
  job.steps(3, 100);
  EXPECT_DOUBLE_EQ(job.pace.per_second(), 0.01);
  job.steps(1, 200);
  EXPECT_DOUBLE_EQ(job.pace.per_second(), 0.005);
}

TEST(Pace, ASuspendedHourDoesNotCount) {
  for (const double step : {0.01, 0.5, 30.0}) {
    TimedJob job;
    job.steps(500, step);
    const double before = job.pace.seconds_left(1000);
    job.steps(1, 3600);
    EXPECT_NEAR(job.pace.seconds_left(1000), before, 0.01 * before) << step;
    job.steps(5, step);
    EXPECT_NEAR(job.pace.seconds_left(1000), before, 0.02 * before) << step;
  }
}

TEST(Pace, AShortPauseCounts) {
  TimedJob job;
  job.steps(31, 1);
  job.steps(1, 9);  // an evaluation that comes again
  EXPECT_DOUBLE_EQ(job.pace.per_second(), 31.0 / 39);
}

TEST(Pace, LessWorkDoneThanBeforeBeginsAgain) {
  TimedJob job;
  job.steps(50, 1);
  job.done = 10;  // a run that rolled back
  job.steps(1, 1);
  EXPECT_TRUE(std::isnan(job.pace.seconds_left(100)));
  job.steps(2, 3);
  EXPECT_DOUBLE_EQ(job.pace.seconds_left(113), 300);
}

TEST(Progress, DurationsAndCounts) {
  EXPECT_EQ(format_duration(0), "0 s");
  EXPECT_EQ(format_duration(59.4), "59 s");
  EXPECT_EQ(format_duration(125), "2 min 05 s");
  EXPECT_EQ(format_duration(3600 * 26 + 61), "26 h 01 min");
  EXPECT_EQ(format_duration(-1), "?");
  EXPECT_EQ(format_duration(std::nan("")), "?");
  EXPECT_EQ(format_duration(INFINITY), "?");
  EXPECT_EQ(format_count(950), "950");
  EXPECT_EQ(format_count(12345), "12.3k");
  EXPECT_EQ(format_count(4.56e6), "4.56M");
  EXPECT_EQ(format_count(7.1e9), "7.10G");
}

}  // namespace
}  // namespace weft
