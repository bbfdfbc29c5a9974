// SPDX-License-Identifier: Apache-2.0
#include "pages/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pages/logged_run.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;
using ::testing::HasSubstr;

Json train_fields(int64_t step) {
  return {{"tokens", 100 * step},
          {"loss", 5.0 / static_cast<double>(step)},
          {"lr", 1e-3},
          {"grad_norm", 0.1 + 0.2},
          {"tokens_per_second", 12345.6},
          {"busy_ms", {1.5, 2.5, 3.5}}};
}

TEST(Report, BlocksHoldWhatTheLogSays) {
  const Scratch scratch;
  LoggedRun run(scratch);
  run.begin_attempt(0, 0);
  for (int64_t step = 1; step <= 5; ++step) run.add("train", step, train_fields(step), 10 * step);
  run.add("eval", 5, {{"loss", 1.25}, {"bleu", 31.5}, {"bleu_signature", "x"}}, 60);
  run.add("save", 5, {{"path", "checkpoints/step-5"}, {"stall_ms", 3.5}}, 61);
  run.add("generations", 5, {{"generations", {{{"temperature", 0.7}, {"prompt", "the"}, {"text", "the boat"}}}}}, 62);
  const std::string page = report_page({run.written()});
  const Json told = block(page, "run-0");
  EXPECT_EQ(told["name"], "run");
  const Json& train = told["train"];
  EXPECT_EQ(train["step"], (Json{1, 2, 3, 4, 5}));
  EXPECT_EQ(train["tokens"], (Json{100, 200, 300, 400, 500}));
  EXPECT_EQ(train["seconds"], (Json{10, 20, 30, 40, 50}));
  for (int64_t step = 1; step <= 5; ++step) {
    const auto row = static_cast<size_t>(step - 1);
    const Json fields = train_fields(step);
    for (const char* name : {"loss", "lr", "grad_norm", "tokens_per_second"}) {
      EXPECT_EQ(train["values"][name]["mean"][row].get<double>(), fields[name].get<double>()) << name;
    }
    EXPECT_EQ(train["values"]["busy_ms"]["low"][row], 1.5);
    EXPECT_EQ(train["values"]["busy_ms"]["mean"][row], 2.5);
    EXPECT_EQ(train["values"]["busy_ms"]["high"][row], 3.5);
  }
  EXPECT_FALSE(train["values"]["loss"].contains("low")) << "one line a bin";
  EXPECT_FALSE(train["values"].contains("mfu")) << "no line has it";
  EXPECT_EQ(told["eval"]["values"]["score:bleu"]["mean"], Json{31.5});
  EXPECT_EQ(told["eval"]["tokens"], Json{500}) << "a line without tokens has those of the steps before it";
  EXPECT_EQ(told["marks"][1]["kind"], "save");
  EXPECT_THAT(told["marks"][1]["details"].get<std::string>(), HasSubstr("path checkpoints/step-5"));
  EXPECT_EQ(told["generations"][0]["texts"][0]["text"], "the boat");
}

// Of traced stretches, the last four; of their numbers, what is one.
TEST(Report, TracesAreInItAsFarAsTheyCanBeRead) {
  const Scratch scratch;
  LoggedRun run(scratch);
  run.begin_attempt(0, 0);
  for (int64_t step = 1; step < 7; ++step) {
    const Json matmul = {{"kind", "operation"}, {"what", "matmul"}, {"calls", 2.5}, {"ms", {1, 2, 3}}, {"flops", 1e9}};
    const Json broken = {{"kind", 7}, {"ms", {"x", 4}}};
    run.add("trace", step,
            {{"first", step},
             {"file", fmt::format("trace-{}.json", step)},
             {"ranks", 2},
             {"step_ms", "none"},
             {"rows", {matmul, broken, 3}}});
  }
  const Json traces = block(report_page({run.written()}), "run-0")["traces"];
  ASSERT_EQ(traces.size(), 4u);
  EXPECT_EQ(traces[0]["first"], 3);
  EXPECT_EQ(traces[3]["file"], "trace-6.json");
  EXPECT_EQ(traces[3]["step_ms"], Json({0, 0, 0}));
  ASSERT_EQ(traces[3]["rows"].size(), 2u);
  EXPECT_EQ(traces[3]["rows"][0]["ms"], Json({1, 2, 3}));
  EXPECT_EQ(traces[3]["rows"][0]["calls"], 2.5);
  EXPECT_EQ(traces[3]["rows"][1]["kind"], "7");
  EXPECT_EQ(traces[3]["rows"][1]["ms"], Json({0, 4, 0}));
}

TEST(Report, SupersededLinesAreLeftOut) {
  const Scratch scratch;
  LoggedRun run(scratch);
  run.begin_attempt(0, 0);
  for (int64_t step = 1; step <= 6; ++step) run.add("train", step, {{"loss", 1.0 * step}});
  run.add("skip", 6);
  run.add("eval", 6, {{"loss", 6.5}});
  run.begin_attempt(1, 3);
  for (int64_t step = 4; step <= 5; ++step) run.add("train", step, {{"loss", 10.0 * step}});
  run.add("eval", 5, {{"loss", 5.5}});
  run.add("roll_back", 4, {{"from_step", 5}});
  run.add("train", 5, {{"loss", 500.0}});
  const Json told = block(report_page({run.written()}), "run-0");
  EXPECT_EQ(told["train"]["step"], (Json{1, 2, 3, 4, 5}));
  EXPECT_EQ(told["train"]["values"]["loss"]["mean"], (Json{1, 2, 3, 40, 500}));
  EXPECT_TRUE(told["eval"]["step"].empty());
  EXPECT_EQ(told["counts"], (Json{{"start", 2}, {"save", 0}, {"save_failed", 0}, {"skip", 0}, {"roll_back", 1}}));
  EXPECT_EQ(told["attempts"].size(), 2U) << "every attempt is listed";
}

// A save is written to the log when it is committed, after lines of later steps.
TEST(Report, ASaveThatIsCommittedLateHidesNothing) {
  const Scratch scratch;
  LoggedRun run(scratch);
  run.begin_attempt(0, 0);
  run.add("skip", 12);
  run.add("save", 10);
  run.begin_attempt(1, 10);
  run.add("train", 11, {{"loss", 1.5}});
  const Json told = block(report_page({run.written()}), "run-0");
  EXPECT_EQ(told["counts"]["skip"], 0) << "the second attempt supersedes it";
  EXPECT_EQ(told["counts"]["save"], 1);
}

TEST(Report, ValuesThatAreNotFiniteAreGaps) {
  const Scratch scratch;
  LoggedRun run(scratch);
  run.add("train", 1, {{"loss", 1.5}});
  run.add("train", 2, {{"loss", nullptr}});
  run.add("train", 3, {{"loss", "wrong"}});
  run.add("train", 4, {{"loss", 2.5}});
  const Json told = block(report_page({run.written()}), "run-0");
  EXPECT_EQ(told["train"]["values"]["loss"]["mean"], (Json{1.5, nullptr, nullptr, 2.5}));
}

TEST(Report, SeveralRunsShareAPage) {
  const Scratch scratch;
  std::vector<fs::path> runs;
  for (const char* name : {"small", "large"}) {
    LoggedRun run(scratch, name);
    run.add("train", 1, {{"loss", 1.5}});
    runs.push_back(run.written());
  }
  const std::string page = report_page(runs);
  EXPECT_EQ(block(page, "report")["runs"], 2);
  EXPECT_EQ(block(page, "run-0")["name"], "small");
  EXPECT_EQ(block(page, "run-1")["name"], "large");
  fs::create_directory(scratch / "other");
  fs::rename(runs[1], scratch / "other" / "small");
  EXPECT_EQ(block(report_page({runs[0], scratch / "other" / "small"}), "run-1")["name"],
            (scratch / "other" / "small").string());
}

TEST(Report, DirectoriesWithoutALogAreRefused) {
  const Scratch scratch;
  EXPECT_THAT(error_of<DataError>([&] { report_page({scratch / "nowhere"}); }),
              HasSubstr("nowhere: no such directory [give the directory of a run that has begun"));
  EXPECT_THAT(error_of<DataError>([&] { report_page({scratch.path()}); }), HasSubstr("no metrics.jsonl in it"));
  EXPECT_THAT(error_of<ConfigError>([] { report_page({}); }), HasSubstr("0 runs; a report shows 1 to 32"));
}

TEST(Report, ARunThatHasJustBegunHasAPage) {
  const Scratch scratch;
  LoggedRun run(scratch);
  run.begin_attempt(0, 0);
  const std::string page = report_page({run.written()});
  EXPECT_TRUE(block(page, "report")["plots"].empty());
}

}  // namespace
}  // namespace weft
