// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/reporter.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "parallel/local/in_process.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

// One of two ranks waits. Lines are written every four steps and after the last of ten.
TEST(Reporter, GathersTimesOnlyForALineOfMetrics) {
  const test::Scratch scratch;
  test::SmallRun run(scratch);
  run.job().log.every_steps = 4;
  run_in_process({.dp = 2}, [&](Mesh& mesh, int rank) {
    Context context;
    Reporter reporter(run.job(), 1000, context, mesh.world(), {.max_steps = 10});
    reporter.begin(scratch.path(), {}, 0, {});
    RunState state;
    mesh.world().traffic().clear();
    for (state.step = 1; state.step <= 10; ++state.step) {
      StepReport report;
      report.outcome.target_tokens = 100;
      report.times = {.busy = 1, .data = rank == 1 ? 0.5 : 0, .wait = 2, .exposed = rank == 0 ? 0.25 : 0};
      reporter.stepped(state, report, 1e-3, 4, state.step == 10);
    }
    EXPECT_EQ(mesh.world().traffic().total().calls, 3);
    EXPECT_EQ(mesh.world().traffic()[Collective::AllGather].calls, 3);
  });
  std::ifstream lines(scratch / "metrics.jsonl");
  std::vector<nlohmann::json> train;
  for (std::string text; std::getline(lines, text);) {
    auto line = nlohmann::json::parse(text);
    if (line.at("event") == "train") train.push_back(std::move(line));
  }
  ASSERT_EQ(train.size(), 3U);
  EXPECT_EQ(train.back().at("seconds_left"), 0);
  for (const auto& line : train) {
    EXPECT_TRUE(line.at("seconds_left").is_number()) << line;
    EXPECT_EQ(line.at("data_ms"), 500.0);
    const double attention = 6.0 * run.job().model.layers * run.job().model.width * run.job().batch.context_length;
    EXPECT_DOUBLE_EQ(line.at("flops"), 25 * (6 * 1000 + attention)) << "25 tokens a second";
    EXPECT_FALSE(line.contains("mfu")) << "nobody states what this processor reaches";
    EXPECT_EQ(line.at("comm_exposed_ms"), 250.0);
    EXPECT_EQ(line.at("busy_ms"), (std::vector<double>{1000, 1000, 1000}));
    EXPECT_EQ(line.at("data_wait_ms"), (std::vector<double>{0, 0, 500}));
  }
}

}  // namespace
}  // namespace weft
