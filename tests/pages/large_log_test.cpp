// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/clock.h"
#include "pages/report.h"
#include "tests/pages/logged_run.h"

namespace weft {
namespace {

using namespace test;

// As long as the log of a run of ten million steps.
TEST(Report, AMillionLinesMakeASmallPage) {
  constexpr int64_t kLines = 1'000'000;
  const Scratch scratch;
  const fs::path run = scratch / "run";
  fs::create_directory(run);
  {
    std::ofstream log(run / "metrics.jsonl");
    for (int64_t step = 1; step <= kLines; ++step) {
      const double loss = step == 654321 ? 99.5 : step == 123456 ? 0.125 : 2 + 1e-7 * static_cast<double>(step % 977);
      log << fmt::format(
          R"({{"run":"0f3a","attempt":0,"event":"train","step":{},"time":"2026-03-01T{:02}:{:02}:{:02}Z","epoch":0,)"
          R"("tokens":{},"loss":{},"nll":{},"lr":{},"grad_norm":{},"skips":0,"tokens_per_second":{},"step_ms":12.34567,)"
          R"("data_ms":0.0123,"comm_exposed_ms":0.5,"peak_memory":123456789,"seconds_left":12345.678}})"
          "\n",
          step, step / 50000, step / 100 % 60, step % 60, 4096 * step, loss, loss, 1e-3 / static_cast<double>(step),
          loss / 3, 1e5 + loss);
    }
  }
  const double began = steady_seconds();
  const std::string page = report_page({run}, {.threads = 2});
  RecordProperty("seconds", fmt::format("{:.2f}", steady_seconds() - began));
  EXPECT_LT(steady_seconds() - began, 30) << "a few seconds on an idle machine";
  EXPECT_LT(page.size(), 5U << 20);
  const Json told = block(page, "run-0");
  const Json& loss = told["train"]["values"]["loss"];
  EXPECT_EQ(told["train"]["step"].size(), 2000U);
  EXPECT_EQ(told["train"]["step"].back(), kLines);
  EXPECT_EQ(std::ranges::max(loss["high"].get<std::vector<double>>()), 99.5);
  EXPECT_EQ(std::ranges::min(loss["low"].get<std::vector<double>>()), 0.125);
}

}  // namespace
}  // namespace weft
