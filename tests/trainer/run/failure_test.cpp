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

// A run whose errors are noted as they are told.
struct Failure : testing::Test {
  Scratch scratch;
  SmallRun run{scratch};
  std::vector<std::string> told;
  int64_t threads_then = 0;  // while the last error was told
  Context context{Device{}, 1};
  Mesh mesh = Mesh::single();
  Trainer trainer{context, mesh, run.job(), {}, {.failed = [this](const std::exception& error) {
                    told.push_back(error.what());
                    threads_then = threads_now();
                  }}};
};

TEST_F(Failure, IsToldOnceAndWhileTheLoaderStillReads) {
  try {
    trainer.run({}, [](int64_t) { throw DataError("a step's error"); });
    ADD_FAILURE() << "no error";
  } catch (const DataError&) {
    EXPECT_GT(threads_then, threads_now());
  }
  EXPECT_EQ(told, std::vector<std::string>{"a step's error"});
}

TEST_F(Failure, IsOnlyThrownAtTheBeginning) {
  EXPECT_THROW(trainer.run({.kind = ResumeChoice::Kind::Path, .path = scratch / "nowhere"}), DataError);
  EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace weft
