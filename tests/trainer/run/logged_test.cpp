// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

// What is told of an evaluation finds its line in the log.
TEST(Logged, IsToldAfterEachEvaluationAndAtTheEnd) {
  const Scratch scratch;
  SmallRun run(scratch);
  run.job().evaluation.every_steps = 3;
  std::vector<int64_t> last;
  const auto note = [&] {
    const auto evaluations = read_metrics(run.directory(), "eval");
    last.push_back(evaluations.empty() ? -1 : evaluations.back()["step"].get<int64_t>());
  };
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  Trainer(context, mesh, run.job(), {}, {.logged = note}).run({});
  EXPECT_EQ(last, (std::vector<int64_t>{3, 6, 8, 8})) << "the run ends after 8 steps, with an evaluation";
}

}  // namespace
}  // namespace weft
