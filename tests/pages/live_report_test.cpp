// SPDX-License-Identifier: Apache-2.0
#include "pages/live_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pages/logged_run.h"

namespace weft {
namespace {

using namespace test;
using ::testing::HasSubstr;

TEST(LiveReport, FollowsTheLog) {
  const Scratch scratch;
  LoggedRun run(scratch);
  run.add("train", 1, {{"loss", 1.5}});
  LiveReport report(run.written());
  report.update();
  report.finish();
  EXPECT_EQ(block(read_file(scratch / "run" / "report.html"), "run-0")["train"]["step"], Json{1});
  run.add("train", 2, {{"loss", 1.25}});
  run.written();
  for (int i = 0; i < 100; ++i) report.update();
  report.finish();
  EXPECT_EQ(block(read_file(scratch / "run" / "report.html"), "run-0")["train"]["step"], (Json{1, 2}));
}

TEST(LiveReport, AFailureIsOneWarning) {
  const Scratch scratch;
  LoggedRun run(scratch);
  run.write("report.html", "not of weft");
  run.add("train", 1, {{"loss", 1.5}});
  testing::internal::CaptureStderr();
  {
    LiveReport report(run.written());
    for (int i = 0; i < 3; ++i) {
      report.update();
      report.finish();
    }
  }
  const std::string said = testing::internal::GetCapturedStderr();
  const size_t first = said.find("report.html is not written (train.report)");
  EXPECT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("report.html is not written", first + 1), std::string::npos) << said;
  EXPECT_EQ(read_file(scratch / "run" / "report.html"), "not of weft");
}

}  // namespace
}  // namespace weft
