// SPDX-License-Identifier: Apache-2.0
// The order of checkpoints is the order in which they were saved, whatever their steps.
#include <gtest/gtest.h>

#include "checkpoint/retention.h"
#include "tests/checkpoint/fixture.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

class SaveOrder : public Checkpoints {
 protected:
  fs::path saved(int64_t step, int64_t sequence) const {
    return save(directory_, {1, 1}, step, 1, {}, false, sequence);
  }
  fs::path at(int64_t step) const { return checkpoint_path(directory_, step); }
};

TEST_F(SaveOrder, TheLatestIsWhatWasSavedLast) {
  saved(10, 1), saved(30, 2), saved(20, 3);
  EXPECT_EQ(list_checkpoints(directory_), (std::vector<fs::path>{at(10), at(30), at(20)}));
  EXPECT_EQ(latest_valid(directory_)->path(), at(20));
  EXPECT_EQ(next_sequence(directory_), 4);
}

TEST_F(SaveOrder, RetentionKeepsWhatWasSavedLast) {
  saved(10, 1), saved(30, 2), saved(40, 3), saved(20, 4);
  apply_retention(directory_, {.keep_last = 1, .keep_steps = {10}});
  EXPECT_EQ(list_checkpoints(directory_), (std::vector<fs::path>{at(10), at(20)}));
}

// Checkpoints of the first builds have no number: they are ordered by step, before all that have one.
TEST_F(SaveOrder, WithoutANumberTheStepDecides) {
  saved(9, 0), saved(100000000, 0), saved(50, 0);
  EXPECT_EQ(list_checkpoints(directory_), (std::vector<fs::path>{at(9), at(50), at(100000000)}));
  EXPECT_EQ(next_sequence(directory_), 1);
  saved(7, 1);
  EXPECT_EQ(latest_valid(directory_)->path(), at(7));
}

TEST_F(SaveOrder, ADamagedManifestIsLookedAtAndPassedOver) {
  saved(10, 1), saved(30, 2), saved(20, 3);
  write_file_atomically(at(10) / "manifest.json", "{");
  EXPECT_EQ(list_checkpoints(directory_).back(), at(10));
  EXPECT_EQ(latest_valid(directory_)->path(), at(20));
}

TEST_F(SaveOrder, LaterSavesAreSetAside) {
  saved(10, 1), saved(30, 2), saved(20, 3);
  EXPECT_EQ(set_aside_later(directory_, at(20), 4), std::vector<fs::path>{});
  const auto aside = [&](int64_t step) { return fs::path(at(step).string() + ".before-4"); };
  EXPECT_EQ(set_aside_later(directory_, at(10) / "", 4), (std::vector<fs::path>{aside(20), aside(30)}));
  EXPECT_EQ(list_checkpoints(directory_), std::vector<fs::path>{at(10)});
  EXPECT_EQ(next_sequence(directory_), 4);
  // No cleanup touches the checkpoints that were set aside, and they can be read.
  clear_unfinished(directory_);
  apply_retention(directory_, {.keep_last = 1});
  for (const int64_t step : {20, 30}) EXPECT_EQ(Checkpoint::open(aside(step)).manifest().step, step);
  // The run returns to the branch: the checkpoints before both stay.
  saved(15, 4);
  EXPECT_EQ(set_aside_later(directory_, aside(20), 5), std::vector<fs::path>{fs::path(at(15).string() + ".before-5")});
}

// One attempt of a run rolls back twice.
TEST_F(SaveOrder, NothingIsRenamedOverWhatWasSetAsideBefore) {
  saved(10, 1), saved(20, 2);
  const auto aside = [&](int number) { return fs::path(fmt::format("{}.before-{}", at(20).string(), number)); };
  EXPECT_EQ(set_aside_later(directory_, at(10), 4), std::vector<fs::path>{aside(4)});
  saved(20, 3);
  EXPECT_EQ(set_aside_later(directory_, at(10), 4), std::vector<fs::path>{aside(5)});
  EXPECT_EQ(Checkpoint::open(aside(4)).manifest().sequence, 2);
}

// A checkpoint that was moved to an archive, with a link in its place, still belongs to the run.
TEST_F(SaveOrder, ALinkToACheckpointIsNotSetAside) {
  saved(10, 1), saved(20, 2), saved(30, 3);
  const fs::path archive = directory_ / "archive";
  fs::create_directories(archive);
  fs::rename(at(20), archive / "step-00000020");
  fs::create_directory_symlink(archive / "step-00000020", at(20));
  EXPECT_EQ(set_aside_later(directory_, at(20), 4), std::vector<fs::path>{fs::path(at(30).string() + ".before-4")});
  EXPECT_EQ(list_checkpoints(directory_), (std::vector<fs::path>{at(10), at(20)}));
  // By its other name it comes from another directory, and makes way for nobody.
  EXPECT_EQ(set_aside_later(directory_, archive / "step-00000020", 4),
            std::vector<fs::path>{fs::path(at(10).string() + ".before-5")});
  EXPECT_EQ(list_checkpoints(directory_), std::vector<fs::path>{at(20)});
}

TEST_F(SaveOrder, ACheckpointOfAnotherDirectorySetsAllAside) {
  saved(10, 1), saved(20, 2);
  const fs::path other = directory_ / "other" / "step-00000030";
  fs::create_directories(other.parent_path());
  fs::copy(at(20), other, fs::copy_options::recursive);
  EXPECT_EQ(set_aside_later(directory_, other, 1).size(), 2u);
  EXPECT_TRUE(list_checkpoints(directory_).empty());
}

TEST_F(SaveOrder, UnfinishedSavesAreCleared) {
  const fs::path whole = saved(7, 1);
  const auto copy_as = [&](const std::string& name) {
    fs::copy(whole, directory_ / name, fs::copy_options::recursive);
    return directory_ / name;
  };
  copy_as("step-00000008.3.tmp");  // killed just before its rename
  fs::remove(copy_as("step-00000009.3.tmp") / "manifest.json");
  copy_as("step-00000007.4.tmp");
  copy_as("step-00000006.4.tmp.tmp");  // made way for a new checkpoint of its step
  copy_as("step-00000005.x.tmp");      // a directory of the user's
  clear_unfinished(directory_);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory_)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"step-00000005.x.tmp", "step-00000007", "step-00000008"}));
}

}  // namespace
}  // namespace weft
