// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/locate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/checkpoint/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;
using testing::HasSubstr;

// A run directory with the steps 1, 2 and 3, of which 2 is the best.
class Locate : public testing::Test {
 protected:
  Locate() {
    for (const int64_t step : {1, 2, 3}) save(folder_, {1, 1}, step, 1, {.step = step, .best_step = 2}, false, step);
  }
  fs::path at(int64_t step) const { return checkpoint_path(folder_, step); }

  Scratch scratch_;
  fs::path run_ = scratch_.path() / "run", folder_ = checkpoints_folder(run_);
};

TEST_F(Locate, ARunMeansItsCheckpointsAndACheckpointItself) {
  for (const fs::path& path : {run_, folder_}) {
    EXPECT_EQ(checkpoints_at(path), (std::vector<fs::path>{at(1), at(2), at(3)}));
    EXPECT_EQ(newest_checkpoint(path), at(3));
    EXPECT_EQ(resolve_checkpoint(path, false), at(3));
    EXPECT_EQ(resolve_checkpoint(path, true), at(2));
  }
  EXPECT_EQ(checkpoints_at(at(1)), std::vector<fs::path>{at(1)});
  EXPECT_EQ(newest_checkpoint(at(1)), at(1));
  EXPECT_EQ(resolve_checkpoint(at(1), true), at(1));
  EXPECT_TRUE(is_run_directory(run_));
  EXPECT_FALSE(is_run_directory(folder_));
  EXPECT_FALSE(is_run_directory(at(1)));
}

TEST_F(Locate, TheNewestMayBeDamagedWhereTheLatestIntactIsNot) {
  fs::resize_file(at(3) / "rank-00000.h5", 100);
  EXPECT_EQ(newest_checkpoint(run_), at(3));
  EXPECT_EQ(resolve_checkpoint(run_, false), at(2));
}

TEST_F(Locate, ErrorsNameThePathAndWhatIsThere) {
  const auto refusal = [](const fs::path& path) { return error_of([&] { newest_checkpoint(path, "some.key"); }); };
  EXPECT_THAT(refusal(scratch_ / "none"), HasSubstr("none: no committed checkpoint here: it does not exist"));
  EXPECT_THAT(refusal(scratch_.write("file", "text")), HasSubstr("file: no committed checkpoint here: it is a file"));
  fs::create_directories(scratch_ / "model");
  write_file_atomically(scratch_ / "model" / "model.safetensors", "");
  EXPECT_THAT(refusal(scratch_ / "model"), HasSubstr("it is an exported model"));
  fs::create_directories(scratch_ / "empty");
  EXPECT_THAT(refusal(scratch_ / "empty"), testing::StartsWith("some.key: "));
  EXPECT_THAT(error_of([&] { resolve_checkpoint(scratch_ / "empty", false); }),
              testing::StartsWith((scratch_ / "empty").string() + ": no committed checkpoint here"));
}

TEST_F(Locate, NoneIsTheBestOfARunThatWasNotEvaluated) {
  save(folder_, {1, 1}, 4, 1, {}, false, 4);
  EXPECT_THAT(error_of([&] { resolve_checkpoint(run_, true); }), HasSubstr("has not been evaluated"));
}

}  // namespace
}  // namespace weft
