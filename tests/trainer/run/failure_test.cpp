// SPDX-License-Identifier: Apache-2.0
// An error that ends a run is told before anything waits for a thread.
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

int64_t threads_now() {
  const fs::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

struct Told {
  std::vector<std::string> errors;
  int64_t threads = 0;
  RunSignals signals() {
    return {.failed = [this](const std::exception& error) { errors.push_back(error.what()), threads = threads_now(); }};
  }
};

TEST(Failure, IsToldOnceAndWhileTheLoaderStillReads) {
  const Scratch scratch;
  SmallRun run(scratch);
  Told told;
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  Trainer trainer(context, mesh, run.job(), {}, told.signals());
  try {
    trainer.run({}, [](int64_t) { throw DataError("a step's error"); });
    ADD_FAILURE() << "no error";
  } catch (const DataError&) {
    EXPECT_GT(told.threads, threads_now());
  }
  EXPECT_EQ(told.errors, std::vector<std::string>{"a step's error"});
}

TEST(Failure, IsOnlyThrownAtTheBeginning) {
  const Scratch scratch;
  SmallRun run(scratch);
  Told told;
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  Trainer trainer(context, mesh, run.job(), {}, told.signals());
  EXPECT_THROW(trainer.run({.kind = ResumeChoice::Kind::Path, .path = scratch / "nowhere"}), DataError);
  EXPECT_TRUE(told.errors.empty());
}

}  // namespace
}  // namespace weft
