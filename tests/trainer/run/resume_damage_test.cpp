// SPDX-License-Identifier: Apache-2.0
// Each rank verifies what it reads, and all ranks pass over a checkpoint that is damaged for one of them.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "parallel/local/in_process.h"
#include "tests/support/error_of.h"
#include "tests/support/modes_bind_root.h"
#include "tests/support/small_disk.h"
#include "tests/trainer/fixture/small_run.h"
#include "trainer/run/run_file.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::HasSubstr;

// Two replicas divide the optimizer's state: each reads only its own moments.
class ResumeDamage : public testing::Test {
 protected:
  void SetUp() override {
    run_.job().train.max_steps = 12;
    run_.job().parallel.zero_stage = ZeroStage::Optimizer;
    train();
    undamaged_ = tensor_hashes(run_.checkpoint(12));
  }
  void train(const ResumeChoice& choice = {}) {
    run_in_process({2, 1}, [&](Mesh& mesh, int) {
      Context context;
      Trainer trainer(context, mesh, run_.job());
      EXPECT_EQ(trainer.run(choice).step, 12);
    });
  }
  // Flips bits that only rank 1 reads: its part of a moment.
  void damage(int64_t step) const {
    const CheckpointManifest manifest = read_checkpoint_manifest(run_.checkpoint(step));
    const auto index = read_index(run_.checkpoint(step), manifest.files.at(1));
    const auto moment = std::ranges::find(index->arrays, "moment1", &StoredArray::buffer);
    ASSERT_NE(moment, index->arrays.end());
    flip_bits(run_.checkpoint(step) / manifest.files[1].name, moment->offset, 4);
  }
  int64_t resumed_step() const { return read_metrics(run_.directory(), "start").back()["step"].get<int64_t>(); }

  const Scratch scratch_;
  SmallRun run_{scratch_};
  std::vector<uint64_t> undamaged_;
};

TEST_F(ResumeDamage, ACheckpointThatOneRankCannotReadIsSkippedByAll) {
  fs::remove_all(run_.checkpoint(12));
  note_last_save(run_.directory(), {});
  damage(9);
  train();
  EXPECT_EQ(resumed_step(), 6);
  EXPECT_EQ(tensor_hashes(run_.checkpoint(12)), undamaged_);
  // The damaged one is neither read again nor counted by retention.
  EXPECT_TRUE(fs::exists(run_.checkpoint(9).string() + ".damaged-1"));
  EXPECT_EQ(read_checkpoint_manifest(run_.checkpoint(9)).attempt, 1);
}

// By its newest checkpoint the run is over; but this checkpoint is damaged, so a step remains.
TEST_F(ResumeDamage, TheEndOfARunIsVerifiedToo) {
  damage(12);
  train();
  EXPECT_EQ(resumed_step(), 9);
  EXPECT_EQ(tensor_hashes(run_.checkpoint(12)), undamaged_);
  train();
  EXPECT_EQ(resumed_step(), 9);  // no step remains
}

TEST_F(ResumeDamage, ADamagedCheckpointThatWasAskedForIsRefusedByAll) {
  damage(6);
  const std::string error = error_of([&] { train({.kind = ResumeChoice::Kind::Path, .path = run_.checkpoint(6)}); });
  EXPECT_THAT(error, AllOf(HasSubstr("rank 1: "), HasSubstr("rank-00001.h5"), HasSubstr("is damaged")));
}

// A file that may not be read is nothing that another checkpoint replaces: the error says where it may not be read.
TEST_F(ResumeDamage, AFileThatMayNotBeReadIsSaidWithItsRankAndHost) {
  fs::permissions(run_.checkpoint(12) / "rank-00001.h5", fs::perms::none);
  const auto result = in_child([&] {
    let_modes_bind_root();
    const std::string error = error_of<AccessError>([&] { train(); });
    EXPECT_THAT(error, AllOf(HasSubstr("rank 1 on " + host_name() + ": "), HasSubstr("rank-00001.h5")));
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
}

TEST_F(ResumeDamage, NothingIsStartedOverWithoutAnIntactCheckpoint) {
  for (const int64_t step : {3, 6, 9, 12}) fs::resize_file(run_.checkpoint(step) / "rank-00001.h5", 10);
  EXPECT_THAT(error_of([&] { train(); }), HasSubstr("none of the 4 checkpoints"));
}

}  // namespace
}  // namespace weft
