// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "parallel/local/in_process.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using test::error_of;

// Only rank 0 checks the one shard of each split; the other rank fails with the same error.
TEST(TrainingData, ADamagedShardIsRefusedByAllRanksBeforeAnythingIsWritten) {
  for (const char* shard : {"train-00000.h5", "valid-00000.h5"}) {
    const test::Scratch scratch;
    test::SmallRun run(scratch);
    const fs::path path = fs::path(run.job().data.directory) / shard;
    fs::resize_file(path, fs::file_size(path) - 1);
    run_in_process({.dp = 2}, [&](Mesh& mesh, int) {
      Context context(Device{}, 1);
      const std::string error = error_of([&] { Trainer(context, mesh, run.job()).run({}); });
      EXPECT_THAT(error, testing::AllOf(testing::HasSubstr(shard), testing::HasSubstr("truncated or not its own")));
    });
    EXPECT_FALSE(fs::exists(run.directory()));
  }
}

TEST(TrainingData, DataForAnotherTaskAreRefusedBeforeAnythingIsWritten) {
  const test::Scratch scratch;
  test::SmallRun run(scratch);
  run.job().task = Task::Translation;
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  EXPECT_THAT(error_of([&] { Trainer(context, mesh, run.job()).run({}); }),
              testing::HasSubstr("but task is translation"));
  EXPECT_FALSE(fs::exists(run.directory()));
}

// A tokenizer of characters has no end token, so that a mask cannot tell documents apart.
TEST(TrainingData, ADocumentMaskWithoutAnEndTokenIsRefusedBeforeAnythingIsWritten) {
  const test::Scratch scratch;
  test::SmallRun run(scratch);
  run.job().data.document_mask = true;
  EXPECT_THAT(error_of([&] { run.train(); }), testing::HasSubstr("data.document_mask: the documents of"));
  EXPECT_FALSE(fs::exists(run.directory()));
}

}  // namespace
}  // namespace weft
