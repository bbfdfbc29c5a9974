// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "data/dataset/dataset.h"
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

// The first step of both runs begins at the same weights, which predict nothing: Z is about the size of the vocabulary.
TEST(Logged, TheZLossIsInTheLossOfTrainingAlone) {
  const Scratch scratch;
  SmallRun plain(scratch, "plain"), with(scratch, "with");
  with.job().train.z_loss = 0.01;
  for (SmallRun* run : {&plain, &with}) run->job().evaluation.every_steps = 8, run->train();
  const auto line = [](const SmallRun& run, const char* event) { return read_metrics(run.directory(), event).at(0); };
  const Dataset data = Dataset::open(plain.job().data.directory, DataSplit::Valid);
  const double log_z = std::log(static_cast<double>(data.header().target.vocabulary));
  const auto before = line(plain, "train"), step = line(with, "train"), evaluation = line(with, "eval");
  EXPECT_EQ(before["loss"], before["nll"]);
  EXPECT_EQ(step["nll"], before["nll"]);
  EXPECT_NE(step["grad_norm"], before["grad_norm"]);
  EXPECT_NEAR(step["loss"].get<double>() - step["nll"].get<double>(), 0.01 * log_z * log_z, 0.001 * log_z * log_z);
  EXPECT_EQ(evaluation["smoothed_loss"], evaluation["loss"]);
}

}  // namespace
}  // namespace weft
