// SPDX-License-Identifier: Apache-2.0
#include "pages/terminal_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/clock.h"
#include "base/text/utf8.h"
#include "pages/dotted_curve.h"
#include "tests/pages/logged_run.h"

namespace weft {
namespace {

using namespace test;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Lines = std::vector<std::string>;

constexpr double kNaN = kNoValue;
constexpr TerminalSize kPlain{.columns = 100, .rows = 40, .utf8 = false};

double midnight() { return static_cast<double>(*seconds_of_utc("2026-03-01T00:00:00Z")); }

Lines view_at(const LoggedRun& run, double second, bool owned = true, const TerminalSize& size = kPlain) {
  return terminal_view(RunHistory(run.written()), owned, midnight() + second, size);
}

// A run of 100 steps, of which 40 are done, one a second.
LoggedRun begun_run(const Scratch& scratch) {
  LoggedRun run(scratch);
  run.begin_attempt(0, 0, 0);
  for (int64_t step = 1; step <= 40; ++step) {
    run.add("train", step,
            {{"loss", 8.0 / static_cast<double>(step)},
             {"grad_norm", 1.5},
             {"lr", 3e-4},
             {"tokens_per_second", 1234567.0},
             {"step_ms", 12.34},
             {"mfu", 0.456},
             {"peak_memory", 3.0 * (1 << 30)}},
            step);
  }
  return run;
}

TEST(DottedCurve, JoinsItsPointsByDots) {
  const Lines rising = dotted_curve(std::vector<double>{0, 1, 2, 3}, {.low = 0, .high = 3}, 4, 4, false);
  EXPECT_THAT(rising, ElementsAre("   *", "  * ", " *  ", "*   "));
  const Lines steep = dotted_curve(std::vector<double>{0, 3, 3, 0}, {.low = 0, .high = 3}, 4, 4, false);
  EXPECT_THAT(steep, ElementsAre(" ** ", " * *", " * *", "*  *"));
}

TEST(DottedCurve, BrailleHasTwoByFourDots) {
  // Left column: dots 7, 3, 2, 1 from the bottom; right column: 8, 6, 5, 4.
  const Lines line = dotted_curve(std::vector<double>{0, 1}, {.low = 0, .high = 1}, 1, 1, true);
  EXPECT_THAT(line, ElementsAre("\u2878"));  // dot 7, and beside it dots 4, 5 and 6
}

TEST(DottedCurve, HasAGapWhereAValueIsNotFinite) {
  const Lines lines = dotted_curve(std::vector<double>{1, kNaN, 1}, {.low = 0, .high = 1}, 3, 2, false);
  EXPECT_THAT(lines, ElementsAre("* *", "   "));
  EXPECT_THAT(dotted_curve({}, {}, 2, 1, false), ElementsAre("  "));
}

TEST(CurveScale, IsLogarithmicIfValuesSpanMuch) {
  const CurveScale wide = CurveScale::of(std::vector<double>{1, kNaN, 100});
  EXPECT_TRUE(wide.logarithmic);
  EXPECT_DOUBLE_EQ(wide.place(10), 0.5);
  const CurveScale narrow = CurveScale::of(std::vector<double>{2, 4});
  EXPECT_FALSE(narrow.logarithmic);
  EXPECT_DOUBLE_EQ(narrow.place(3), 0.5);
  EXPECT_FALSE(CurveScale::of(std::vector<double>{-1, 100}).logarithmic);
  for (const double same : {0.0, 5.0}) {
    const CurveScale scale = CurveScale::of(std::vector<double>{same, same});
    EXPECT_LT(scale.low, scale.high);
    EXPECT_NEAR(scale.place(same), 0.5, 1e-9);
  }
}

TEST(TerminalView, SaysHowFarARunIsAndHowFast) {
  const Scratch scratch;
  const LoggedRun run = begun_run(scratch);
  const Lines lines = view_at(run, 43);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("run: training"), HasSubstr("last line 3 s ago")));
  EXPECT_EQ(lines[1], "step 40 of 100 ##########-------------- 40 %   1 min 00 s left");
  EXPECT_EQ(lines[2], "loss 0.2000   norm 1.5   lr 3.00e-04");
  EXPECT_EQ(lines[3], "1.23M tokens/s   12.3 ms a step   MFU 45.6 %   3.0 GiB");
  EXPECT_THAT(lines, Not(Contains(HasSubstr("!"))));
}

TEST(TerminalView, DrawsTheLossFromItsFirstToItsLastStep) {
  const Scratch scratch;
  const LoggedRun run = begun_run(scratch);
  const Lines lines = view_at(run, 43);
  const auto top = std::ranges::find_if(lines, [](const std::string& line) { return line.starts_with("       8 *"); });
  ASSERT_NE(top, lines.end());
  EXPECT_THAT(lines, Contains(testing::StartsWith("     0.2 ")));
  EXPECT_THAT(lines, Contains(testing::ContainsRegex("^ +loss \\(logarithmic\\), step 1 +40$")));
}

TEST(TerminalView, ShowsEvaluationsCheckpointsRanksAndTexts) {
  const Scratch scratch;
  LoggedRun run = begun_run(scratch);
  run.add("eval", 20, {{"loss", 1.25}, {"best_step", 20}}, 20);
  run.add("eval", 40, {{"loss", 1.5}, {"best_step", 20}}, 40);
  run.add("save", 30, Json::object(), 31);
  run.add("generations", 40, {{"generations", {{{"temperature", 0}, {"prompt", "a"}, {"text", "b\nc"}}}}}, 41);
  run.add("train", 41,
          {{"loss", 1.0}, {"busy_ms", {1, 2, 3}}, {"data_wait_ms", {0, 0, 1}}, {"comm_wait_ms", {4, 5, 6}}}, 41);
  const Lines lines = view_at(run, 91);
  EXPECT_THAT(lines[2], HasSubstr("validation 1.5000 at step 40 (best: step 20)"));
  EXPECT_THAT(lines, Contains("ranks, ms: busy 1.0/2.0/3.0   data 0.0/0.0/1.0   others 4.0/5.0/6.0"));
  EXPECT_THAT(lines, Contains("checkpoint of step 30, 1 min 00 s ago"));
  EXPECT_THAT(lines, Contains("texts of step 40:"));
  EXPECT_THAT(lines, Contains("  a => b c"));
}

TEST(TerminalView, SaysWhatWentWrong) {
  const Scratch scratch;
  LoggedRun run = begun_run(scratch);
  run.add("skip", 12, {{"loss", nullptr}}, 12);
  run.add("save", 20, Json::object(), 20);
  run.add("save_failed", 30, Json::object(), 30);
  run.add("roll_back", 40, {{"from_step", 44}}, 44);
  const Lines silent = view_at(run, 1000);
  EXPECT_THAT(silent, Contains("! the save of step 30 failed, and none has succeeded since"));
  EXPECT_THAT(silent, Contains("! 1 step skipped, the last at 12"));
  EXPECT_THAT(silent, Contains("! rolled back 1 time, the last to step 40"));
  EXPECT_THAT(silent, Contains("! no line for 15 min 56 s"));
  EXPECT_THAT(view_at(run, 1000, false), Contains("! it has not reached its last step, and no process works on it"));
}

TEST(TerminalView, AFinishedRunHasNoAlarm) {
  const Scratch scratch;
  LoggedRun run(scratch);
  run.begin_attempt(0, 0);
  run.add("train", 100, {{"loss", 1.0}}, 50);
  const Lines lines = view_at(run, 5000, false);
  EXPECT_THAT(lines[0], HasSubstr("finished"));
  EXPECT_THAT(lines, Not(Contains(testing::StartsWith("!"))));
}

// Whatever the size, nothing is longer or more than it is.
TEST(TerminalView, FitsATerminalOfAnySize) {
  const Scratch scratch;
  LoggedRun run = begun_run(scratch);
  const std::string wide = "\u65e5\u672c\u8a9e\u306e\u6587";
  run.add("generations", 40, {{"generations", {{{"prompt", wide + wide}, {"text", wide + wide + wide}}}}}, 41);
  for (const bool utf8 : {false, true}) {
    for (const int columns : {1, 9, 20, 37, 80, 200}) {
      for (const int rows : {0, 1, 2, 5, 11, 24, 60}) {
        const Lines lines = view_at(run, 60, true, {.columns = columns, .rows = rows, .utf8 = utf8});
        EXPECT_LE(std::ssize(lines), rows);
        for (const std::string& line : lines) EXPECT_LE(std::ssize(decode_utf8(line)), columns) << line;
      }
    }
  }
}

// What a log or a model says cannot move the cursor or change the screen.
TEST(TerminalView, NoTextIsAnEscape) {
  const Scratch scratch;
  LoggedRun run = begun_run(scratch);
  run.add("generations", 40,
          {{"generations", {{{"prompt", "\x1b[2J\u009b"}, {"text", "\u202e\r\b\x07 end"}}, 7, {{"prompt", 3}}}}}, 41);
  const Lines lines = view_at(run, 60);
  for (const std::string& line : lines) {
    for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
    EXPECT_THAT(line, Not(HasSubstr("\u202e")));
  }
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("\\x1b[2J"), HasSubstr("end"))));
}

TEST(TerminalView, ARunWithoutAStepIsShown) {
  const Scratch scratch;
  LoggedRun run(scratch);
  run.begin_attempt(0, 0);
  EXPECT_EQ(view_at(run, 1)[1], "step 0 of 100 ------------------------ 0 %");
}

}  // namespace
}  // namespace weft
