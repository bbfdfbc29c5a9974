// SPDX-License-Identifier: Apache-2.0
// Saves that find no room, on a disk that is really full.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/error.h"
#include "checkpoint/retention.h"
#include "checkpoint/space.h"
#include "tests/checkpoint/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"
#include "tests/support/small_disk.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::HasSubstr;

std::string save_error(const fs::path& directory, int64_t step) {
  return error_of([&] { save(directory, {2, 1}, step, static_cast<uint64_t>(step)); });
}

void expect_only(const fs::path& directory, int64_t step) {
  EXPECT_EQ(list_checkpoints(directory), std::vector<fs::path>{checkpoint_path(directory, step)});
  EXPECT_EQ(latest_valid(directory)->path(), checkpoint_path(directory, step));
  for (const auto& entry : fs::directory_iterator(directory)) {
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }
}

// The disk fills up at every stage of a save: structure, payload, parts, attachments, manifest.
TEST(SaveFailure, AFullDiskLosesNothingAndIsReported) {
  const Scratch scratch;
  const auto result = on_small_disk(scratch.path(), 1 << 20, [&] {
    save(scratch.path(), {2, 1}, 1, 1);
    int failed = 0;
    for (uint64_t pages = 0; pages < 40; ++pages) {
      fill_disk(scratch.path(), pages * 4096);
      const std::string error = save_error(scratch.path(), 2);
      fs::remove(scratch / "filler");
      if (error == "no error") break;
      ++failed;
      EXPECT_THAT(error, AllOf(HasSubstr(scratch.path().string()), HasSubstr("No space left on device"),
                               HasSubstr("needs "), HasSubstr(" bytes are free in ")));
      expect_only(scratch.path(), 1);
    }
    EXPECT_GT(failed, 4);
    EXPECT_EQ(latest_valid(scratch.path())->manifest().step, 2);  // with room again the save works
  });
  if (result == ChildResult::NoMount) GTEST_SKIP() << kNoMount;
  EXPECT_EQ(result, ChildResult::Passed);
}

// A file that may not grow: the write returns a short count, then fails.
TEST(SaveFailure, ALimitOnFileSizesLosesNothingAndIsReported) {
  const Scratch scratch;
  const auto result = in_child([&] {
    save(scratch.path(), {2, 1}, 1, 1);
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit before = limit;
    int failed = 0;
    for (const rlim_t bytes : {1, 700, 3000, 4500, 6000, 7000}) {
      limit.rlim_cur = bytes;
      setrlimit(RLIMIT_FSIZE, &limit);
      const std::string error = save_error(scratch.path(), 2);
      setrlimit(RLIMIT_FSIZE, &before);
      if (error == "no error") break;
      ++failed;
      EXPECT_THAT(error, HasSubstr(scratch.path().string()));
      expect_only(scratch.path(), 1);
    }
    EXPECT_GT(failed, 1);
    EXPECT_EQ(save_error(scratch.path(), 3), "no error");
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
}

TEST(SaveFailure, ADirectoryBelowAFileIsReported) {
  const Scratch scratch;
  scratch.write("file", "x");
  EXPECT_THAT(save_error(scratch / "file", 1), HasSubstr("create " + (scratch / "file").string()));
  EXPECT_EQ(read_file(scratch / "file"), "x");
}

// A run resumed from an earlier step saves a step again: the old checkpoint stays until the new one has its name.
TEST(SaveFailure, AStepThatIsSavedAgainReplacesTheOld) {
  const Scratch scratch;
  save(scratch.path(), {1, 1}, 1, 1);
  const auto hash = [&] { return read_checkpoint_manifest(checkpoint_path(scratch.path(), 1)).files[0].index.hash; };
  const uint64_t before = hash();
  save(scratch.path(), {1, 1}, 1, 2);
  EXPECT_NE(hash(), before);
  expect_only(scratch.path(), 1);
}

TEST(Space, TooLittleIsAnErrorWithBothNumbers) {
  const Scratch scratch;
  EXPECT_NO_THROW(require_space(scratch.path(), 1, "it"));
  const std::string error = error_of([&] { require_space(scratch.path(), uint64_t{1} << 60, "3 checkpoints"); });
  EXPECT_THAT(error, AllOf(HasSubstr(scratch.path().string() + ": "), HasSubstr(" bytes are free, but 3 checkpoints"),
                           HasSubstr("1152921504606846976 bytes"), HasSubstr("checkpoint.keep_last")));
}

TEST(Space, AnEstimateIsALittleMoreThanWhatIsWritten) {
  const Scratch scratch;
  const fs::path path = save(scratch.path(), {1, 1}, 1, 1);
  uint64_t written = 0;
  for (const auto& entry : fs::directory_iterator(path)) written += entry.file_size();
  const uint64_t estimate = checkpoint_bytes(29 * 8 + 5 * 16 + 7 + 120, 4, 2, 4, 1);
  EXPECT_GE(estimate, written);
  EXPECT_LE(estimate, written + (100 << 10));
}

TEST(Unfinished, LeftoversOfKilledSavesAreCleared) {
  const Scratch scratch;
  const fs::path whole = save(scratch.path(), {1, 1}, 7, 1);
  const auto copy_as = [&](const std::string& name) {
    fs::copy(whole, scratch / name, fs::copy_options::recursive);
    return scratch / name;
  };
  copy_as("step-00000008.tmp");  // killed just before its rename
  fs::remove(copy_as("step-00000009.tmp") / "manifest.json");
  fs::remove(copy_as("step-00000006.tmp") / "rank-00000.h5");  // killed while the checkpoint was deleted
  copy_as("step-00000007.tmp");                                // the checkpoint under the name itself is newer
  copy_as("step-00000007.tmp.tmp");
  copy_as("before-the-change.tmp");  // a directory of the user's
  scratch.write("step-00000005.txt", "");
  clear_unfinished(scratch.path());
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(scratch.path())) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  EXPECT_EQ(names,
            (std::vector<std::string>{"before-the-change.tmp", "step-00000005.txt", "step-00000007", "step-00000008"}));
  clear_unfinished(scratch / "nowhere");  // nothing to clear
}

TEST(Retention, PinnedAndRenamedCheckpointsStay) {
  const Scratch scratch;
  for (int64_t step = 1; step <= 6; ++step) {
    save(scratch.path(), {1, 1}, step, 1);
    if (step == 2) fs::copy(checkpoint_path(scratch.path(), 2), scratch / "paper", fs::copy_options::recursive);
    if (step == 3) fs::rename(checkpoint_path(scratch.path(), 3), scratch / "step-3-kept");
    apply_retention(scratch.path(), {.keep_last = 1, .best_step = 4, .keep_steps = {1, 3}});
    EXPECT_TRUE(latest_valid(scratch.path()));
  }
  EXPECT_EQ(list_checkpoints(scratch.path()),
            (std::vector<fs::path>{checkpoint_path(scratch.path(), 1), checkpoint_path(scratch.path(), 4),
                                   checkpoint_path(scratch.path(), 6)}));
  for (const char* name : {"paper", "step-3-kept"}) EXPECT_NO_THROW(Checkpoint::open(scratch / name)) << name;
}

}  // namespace
}  // namespace weft
