// SPDX-License-Identifier: Apache-2.0
// Readers of metrics.jsonl may rely on these properties, whatever has killed the writer.
#include "trainer/run/logs/metrics.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <thread>

#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

using Json = nlohmann::ordered_json;

std::vector<int64_t> steps_of(const std::vector<Json>& lines) {
  std::vector<int64_t> steps;
  for (const Json& line : lines) steps.push_back(line["step"].get<int64_t>());
  return steps;
}

void write_steps(const fs::path& directory, int64_t attempt, std::initializer_list<int64_t> steps) {
  MetricsLog log(directory, "run", attempt);
  for (const int64_t step : steps) log.write("train", step, {{"loss", static_cast<double>(100 * attempt + step)}});
}

TEST(Metrics, LinesCarryWhoWroteThemAndEveryDigit) {
  const Scratch scratch;
  {
    MetricsLog log(scratch.path(), "abc", 3);
    log.write("train", 7, {{"loss", 0.1 + 0.2}, {"lr", 1e-300}, {"text", "not \xff utf-8"}, {"norm", std::nan("")}});
  }
  const std::string text = read_file(scratch / "metrics.jsonl");
  EXPECT_EQ(text.back(), '\n');
  const Json line = Json::parse(text);
  EXPECT_EQ(line["run"], "abc");
  EXPECT_EQ(line["attempt"], 3);
  EXPECT_EQ(line["event"], "train");
  EXPECT_EQ(line["step"], 7);
  const std::regex utc(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)");
  EXPECT_TRUE(std::regex_match(line["time"].get<std::string>(), utc)) << line;
  EXPECT_EQ(line["loss"].get<double>(), 0.1 + 0.2);
  EXPECT_EQ(line["lr"].get<double>(), 1e-300);
  EXPECT_TRUE(line["norm"].is_null());  // JSON has no NaN
}

TEST(Metrics, NoLinkIsFollowed) {
  const Scratch scratch;
  const fs::path theirs = scratch.write("theirs", "a line without an end");
  fs::create_symlink(theirs, scratch / "metrics.jsonl");
  write_steps(scratch.path(), 0, {1, 2});
  EXPECT_EQ(read_file(theirs), "a line without an end");
}

TEST(Metrics, APartialLastLineIsPassedOverAndCutOff) {
  const Scratch scratch;
  write_steps(scratch.path(), 0, {1, 2});
  const std::string whole = read_file(scratch / "metrics.jsonl");
  scratch.write("metrics.jsonl", whole + R"({"run":"run","attempt":0,"event":"train","step":3,"lo)");
  EXPECT_EQ(steps_of(read_metrics(scratch.path(), "train")), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(next_attempt(scratch.path()), 1);
  write_steps(scratch.path(), 1, {3});
  EXPECT_EQ(steps_of(read_metrics(scratch.path(), "train")), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(read_file(scratch / "metrics.jsonl").substr(0, whole.size() + 1), whole + "{");
}

TEST(Metrics, ALogThatIsOnePartialLineBecomesEmpty) {
  const Scratch scratch;
  scratch.write("metrics.jsonl", "{\"run\":");
  write_steps(scratch.path(), 0, {1});
  EXPECT_EQ(steps_of(read_metrics(scratch.path(), "train")), (std::vector<int64_t>{1}));
}

TEST(Metrics, ALongPartialLineIsCutOffToo) {
  const Scratch scratch;
  write_steps(scratch.path(), 0, {1, 2});
  const std::string whole = read_file(scratch / "metrics.jsonl");
  scratch.write("metrics.jsonl", whole + std::string(200000, 'x'));
  write_steps(scratch.path(), 1, {});
  EXPECT_EQ(read_file(scratch / "metrics.jsonl"), whole);
}

TEST(Metrics, ForeignLinesAreNoSteps) {
  const Scratch scratch;
  scratch.write("metrics.jsonl",
                "\n[]\nnonsense\n{\"event\":\"train\"}\n{\"event\":\"train\",\"step\":\"5\",\"attempt\":0}\n"
                "{\"event\":3,\"step\":5,\"attempt\":0}\n{\"event\":\"train\",\"step\":5,\"attempt\":0}\n");
  EXPECT_EQ(steps_of(read_metrics(scratch.path(), "train")), (std::vector<int64_t>{5}));
  EXPECT_TRUE(read_metrics(scratch.path(), "eval").empty());
  EXPECT_TRUE(read_metrics(scratch / "nowhere", "train").empty());
  EXPECT_EQ(next_attempt(scratch / "nowhere"), 0);
}

TEST(Metrics, LaterAttemptsSupersedeFromTheirFirstStep) {
  const Scratch scratch;
  write_steps(scratch.path(), 0, {1, 2, 3, 4, 5, 6});
  {
    // The attempt resumes at step 3 and writes fewer lines: the first attempt's step 4 is superseded.
    MetricsLog log(scratch.path(), "run", 1);
    log.write("start", 3, {});
    log.write("train", 5, {{"loss", 105.0}});
    log.write("train", 8, {{"loss", 108.0}});
  }
  const auto lines = read_metrics(scratch.path(), "train");
  EXPECT_EQ(steps_of(lines), (std::vector<int64_t>{1, 2, 3, 5, 8}));
  EXPECT_EQ(lines[2]["attempt"], 0);
  EXPECT_EQ(lines[3]["attempt"], 1);
  // An attempt that is killed before its first line supersedes earlier ones all the same.
  MetricsLog(scratch.path(), "run", 2).write("start", 2, {});
  EXPECT_EQ(steps_of(read_metrics(scratch.path(), "train")), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(next_attempt(scratch.path()), 3);
}

TEST(Metrics, LogsOfBuildsWithoutStartLinesStillIncrease) {
  const Scratch scratch;
  write_steps(scratch.path(), 0, {10, 20, 30, 40});
  write_steps(scratch.path(), 1, {20, 30});
  EXPECT_EQ(steps_of(read_metrics(scratch.path(), "train")), (std::vector<int64_t>{10, 20, 30}));
}

TEST(Metrics, NumbersAreReadWithoutWholeLines) {
  const Scratch scratch;
  {
    MetricsLog log(scratch.path(), "run", 0);
    for (int64_t step = 1; step <= 1000; ++step) {
      log.write("train", step,
                {{"loss", 0.1 * static_cast<double>(step)}, {"busy_ms", {1, step, 3}}, {"mfu", nullptr}});
    }
    log.write("roll_back", 990, {});
    log.write("eval", 991, {{"loss", 7.0}});
  }
  for (const int threads : {1, 3}) {
    std::vector<int64_t> steps;
    double loss = 0, median = 0;
    MetricsReader reader{.fields = {{"loss"}, {"busy_ms", 2}, {"mfu"}}};
    reader.drop = [&](std::string_view event, int64_t first) {
      if (event.empty() || event == "train") std::erase_if(steps, [=](int64_t step) { return step >= first; });
    };
    reader.take = [&](const MetricsLine& line) {
      EXPECT_GT(line.time, 1.7e9);
      EXPECT_TRUE(std::isnan(line.numbers[2]));
      if (line.event != "train") return;
      steps.push_back(line.step);
      loss = line.numbers[0], median = line.numbers[1];
    };
    read_metrics(scratch.path(), reader, threads);
    EXPECT_EQ(steps.size(), 990U);
    EXPECT_EQ(loss, 0.1 * 1000);
    EXPECT_EQ(median, 1000);
  }
}

TEST(Metrics, ALogThatCannotBeWrittenStopsNothing) {
  const Scratch scratch;
  MetricsLog below_a_file(scratch.write("file", "x"), "run", 0);
  below_a_file.write("train", 1, {});
  EXPECT_EQ(read_file(scratch / "file"), "x");
}

TEST(Metrics, SigkillLeavesAtMostOnePartialLine) {
  const Scratch scratch;
  for (int i = 0; i < 12; ++i) {
    const int64_t attempt = next_attempt(scratch.path());
    const pid_t child = fork();
    if (child == 0) {
      MetricsLog log(scratch.path(), "run", attempt);
      log.write("start", 0, {});
      for (int64_t step = 1;; ++step) log.write("train", step, {{"filler", std::string(3000, 'x')}});
    }
    std::this_thread::sleep_for(std::chrono::microseconds(3000 + 977 * i));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (!fs::exists(scratch / "metrics.jsonl")) continue;
    std::istringstream text(read_file(scratch / "metrics.jsonl"));
    int bad = 0;
    for (std::string line; std::getline(text, line);) bad += Json::parse(line, nullptr, false).is_discarded();
    EXPECT_LE(bad, 1);
    const std::vector<int64_t> steps = steps_of(read_metrics(scratch.path(), "train"));
    for (size_t k = 1; k < steps.size(); ++k) EXPECT_EQ(steps[k], steps[k - 1] + 1);
  }
}

}  // namespace
}  // namespace weft
