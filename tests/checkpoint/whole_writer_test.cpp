// SPDX-License-Identifier: Apache-2.0
// The place of a checkpoint that is written in one piece, and the files beside it, which stay as they were.
#include "checkpoint/whole_writer.h"

#include <gmock/gmock.h>

#include "checkpoint/average.h"
#include "tests/checkpoint/fixture.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;

struct WholeWriter : Checkpoints {
  void SetUp() override {
    for (const char* theirs : {"out.tmp", "out.parts"}) {
      fs::create_directory(directory_ / theirs);
      scratch_.write(std::string(theirs) + "/keep", "thesis");
    }
  }
  // The names of everything in the directory except the runs' own checkpoints.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      if (!is_step_name(entry.path().filename().string())) found.push_back(entry.path().filename());
    }
    std::ranges::sort(found);
    return found;
  }
  void expect_theirs() const {
    for (const char* theirs : {"out.tmp", "out.parts"}) EXPECT_EQ(read_file(directory_ / theirs / "keep"), "thesis");
  }
};

TEST_F(WholeWriter, AnAverageTakesNoOthersNames) {
  const std::vector<fs::path> paths = {save(directory_, {1, 1}, 1, 1), save(directory_, {2, 1}, 2, 2)};
  average_checkpoints(paths, directory_ / "out/");  // with a slash at the end
  EXPECT_EQ(Checkpoint::open(directory_ / "out").manifest().provenance["mean_of"].size(), 2u);
  EXPECT_EQ(error_of([&] { average_checkpoints(paths, directory_ / "out/"); }),
            (directory_ / "out").string() + ": exists already");
  EXPECT_EQ(names(), (std::vector<std::string>{"out", "out.parts", "out.tmp"}));
  expect_theirs();
}

TEST_F(WholeWriter, AFailureTakesNothingButItsOwn) {
  EXPECT_THAT(error_of([&] {
                write_whole_checkpoint(directory_ / "out", {}, {{"w", {2}}},
                                       [](const WholeTensor&, std::span<float>) { throw DataError("no values"); });
              }),
              HasSubstr("no values"));
  EXPECT_EQ(names(), (std::vector<std::string>{"out.parts", "out.tmp"}));
  expect_theirs();
}

}  // namespace
}  // namespace weft
