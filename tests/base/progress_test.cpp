// SPDX-License-Identifier: Apache-2.0
// Progress lines that people read, and that a log file can hold.
#include "base/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <thread>

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

TEST(Progress, TimeLeftFollowsThePace) {
  Progress progress(false);
  EXPECT_EQ(progress.seconds_left(100, 100, 200), 0);  // no step was done yet
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const double after_one = progress.seconds_left(100, 101, 111);  // 10 steps to go, at 30 ms or more each
  EXPECT_GE(after_one, 0.3);
  const double half = progress.seconds_left(100, 150, 200);  // as many steps to go as were done: the same time again
  EXPECT_GE(half, 0.03);
  EXPECT_GE(progress.seconds_left(100, 150, 200), half);  // the clock keeps running
  EXPECT_EQ(progress.seconds_left(100, 200, 200), 0);
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
