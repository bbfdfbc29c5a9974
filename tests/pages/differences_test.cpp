// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "pages/report.h"
#include "tests/pages/logged_run.h"

namespace weft {
namespace {

using namespace test;

TEST(Report, JobsAreCompared) {
  const Scratch scratch;
  std::vector<fs::path> runs;
  const std::vector<std::string> jobs = {"name: a\nseed: 1\nmodel: {width: 64, heads: 4}\n",
                                         "name: b\nseed: 1\nmodel: {width: 128, heads: 4}\n",
                                         "name: c\nseed: 2\nmodel: {width: 64, heads: 4}\n"};
  for (size_t k = 0; k < jobs.size(); ++k) {
    LoggedRun run(scratch, fmt::format("run{}", k));
    run.add("train", 1, {{"loss", 1.5}});
    run.write("job.yaml", jobs[k]);
    runs.push_back(run.written());
  }
  EXPECT_EQ(block(report_page(runs), "report")["differences"],
            (Json{{{"key", "model.width"}, {"values", {"64", "128", "64"}}},
                  {{"key", "seed"}, {"values", {"1", "1", "2"}}}}));
  EXPECT_TRUE(block(report_page({runs[0]}), "report")["differences"].empty());
}

}  // namespace
}  // namespace weft
