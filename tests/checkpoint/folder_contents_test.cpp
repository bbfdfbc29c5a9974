// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/folder_contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scratch.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using test::source_dir;
using testing::ContainsRegex;
using testing::HasSubstr;

TEST(FolderContents, AFolderWithoutAnyIsEmpty) {
  const test::Scratch scratch;
  fs::create_directory(scratch / "notes");
  scratch.write("notes/a.txt", "a");
  EXPECT_EQ(describe_contents(scratch.path()), "");
  EXPECT_EQ(describe_contents(scratch / "nowhere"), "");
}

TEST(FolderContents, ARunWithoutACheckpointIsARun) {
  const test::Scratch scratch;
  fs::create_directories(scratch / "runs" / "new" / "checkpoints");
  EXPECT_EQ(describe_contents(scratch.path()), "runs/new  run: no checkpoint, 0.0 MiB\n");
  EXPECT_EQ(describe_contents(scratch / "runs"), "new  run: no checkpoint, 0.0 MiB\n");
}

TEST(FolderContents, DamagedOnesKeepTheirLines) {
  const test::Scratch scratch;
  fs::create_directories(scratch / "data");
  fs::create_directories(scratch / "run/checkpoints/step-00000001");
  scratch.write("data/dataset.json", "{");
  scratch.write("run/checkpoints/step-00000001/manifest.json", "{");
  const std::string text = describe_contents(scratch.path());
  EXPECT_THAT(text, HasSubstr("data  cannot be read: "));
  EXPECT_THAT(text, HasSubstr("run   cannot be read: "));
}

TEST(FolderContents, CheckpointsAndDatasetsHaveTheirSizes) {
  EXPECT_THAT(describe_contents(source_dir() / "tests" / "checkpoint" / "golden"),
              ContainsRegex("^checkpoint-v1  checkpoint: step [1-9][0-9]*, [0-9.]+ MiB\ncheckpoint-v2  checkpoint: "));
  EXPECT_THAT(describe_contents(source_dir() / "tests" / "data" / "dataset" / "golden"),
              ContainsRegex("dataset: train [1-9][0-9]* .*tokens\\), .* MiB\n"));
}

TEST(FolderContents, HiddenAndDeepFoldersAreLeftOut) {
  const test::Scratch scratch;
  for (const char* name : {".hidden/run", "a/b/c/run", "a/b/run"}) {
    fs::create_directories(scratch / name / "checkpoints");
  }
  EXPECT_EQ(describe_contents(scratch.path()), "a/b/run  run: no checkpoint, 0.0 MiB\n");
}

}  // namespace
}  // namespace weft
