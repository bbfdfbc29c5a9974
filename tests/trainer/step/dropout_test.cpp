// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

// The losses of a run whose batches are all alike and whose weights stay.
std::vector<double> losses(double dropout) {
  const Scratch scratch;
  std::string text;
  while (text.size() < 2000) text += "abcdefgh";
  SmallRun run(scratch, "run", text);
  run.job().model.dropout = {.embedding = dropout, .residual = dropout, .ffn = dropout, .attention = dropout};
  run.job().schedule = {.kind = ScheduleKind::Constant, .learning_rate = 1e-30};
  run.train();
  std::vector<double> found;
  for (const auto& line : read_metrics(run.directory(), "train")) found.push_back(line["loss"]);
  return found;
}

TEST(Dropout, EachStepDrawsItsOwn) {
  const std::vector<double> without = losses(0), with = losses(0.3);
  ASSERT_EQ(without.size(), 8U);
  EXPECT_EQ(std::set(without.begin(), without.end()).size(), 1U) << "the batches are alike";
  EXPECT_EQ(std::set(with.begin(), with.end()).size(), 8U);
  EXPECT_EQ(losses(0.3), with);
}

}  // namespace
}  // namespace weft
