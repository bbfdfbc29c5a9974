// SPDX-License-Identifier: Apache-2.0
// The algorithms of matrix products that a run measures on the simulated device are stored in its checkpoints and in
// its directory: a run that resumes with them, or shares them, has the same bits. WEFT_CUDA_DEVICE_TIMES simulates a
// device on which another measurement has another winner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/average.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"
#include "trainer/run/run_file.h"

namespace weft {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::StartsWith;

class CudaAlgorithms : public testing::Test {
 protected:
  void TearDown() override { times(0); }

  static void times(int number) { setenv("WEFT_CUDA_DEVICE_TIMES", std::to_string(number).c_str(), 1); }
  // Trains in a new context, as a new process would.
  static std::vector<uint64_t> trained(const SmallRun& run) {
    Context cuda(Device{DeviceKind::Cuda});
    return tensor_hashes(*run.train_on(cuda).last_checkpoint);
  }
  // Leaves the third step's checkpoint as the last one, as if the run had been killed before the sixth. Returns what
  // the whole run came to.
  static std::vector<uint64_t> break_off(const SmallRun& run) {
    std::vector<uint64_t> whole = trained(run);
    for (const int64_t step : {6, 8}) fs::remove_all(run.checkpoint(step));
    note_last_save(run.directory(), {});
    EXPECT_TRUE(fs::exists(run.checkpoint(3)));
    return whole;
  }
  static fs::path file(const SmallRun& run) { return run.directory() / "algorithms.json"; }

  const Scratch scratch;
};

TEST_F(CudaAlgorithms, OtherAlgorithmsGiveOtherBitsAndATableRestoresThem) {
  SmallRun first(scratch, "first"), other(scratch, "other"), sharing(scratch, "sharing");
  const std::vector<uint64_t> expected = trained(first);
  ASSERT_TRUE(fs::exists(file(first)));
  times(1);
  EXPECT_NE(trained(other), expected);
  sharing.job().train.algorithms_file = file(first);
  EXPECT_EQ(trained(sharing), expected);
  EXPECT_FALSE(fs::exists(file(sharing)));
}

TEST_F(CudaAlgorithms, AResumedRunTakesTheTableOfItsCheckpoint) {
  SmallRun resumed(scratch, "resumed");
  const std::vector<uint64_t> expected = break_off(resumed);
  fs::remove(file(resumed));
  times(1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(trained(resumed), expected);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("resumed from"));
  EXPECT_THAT(said, Not(HasSubstr("numerics differ")));
  EXPECT_TRUE(fs::exists(file(resumed)));
}

// Only the file holds algorithms that were measured after the checkpoint, such as those of the validation at the end.
TEST_F(CudaAlgorithms, TheFileHasWhatWasMeasuredAfterTheCheckpoint) {
  SmallRun run(scratch);
  break_off(run);
  const CheckpointManifest manifest = read_checkpoint_manifest(run.checkpoint(3));
  const std::string early = read_attachment(run.checkpoint(3), manifest, "algorithms.json");
  EXPECT_THAT(manifest.fingerprint.at("algorithms").get<std::string>(), StartsWith("measured: "));
  trained(run);
  const std::string late =
      read_attachment(run.checkpoint(8), read_checkpoint_manifest(run.checkpoint(8)), "algorithms.json");
  EXPECT_GE(late.size(), early.size());
  EXPECT_EQ(late, read_file(file(run)));
}

TEST_F(CudaAlgorithms, ARunResumesOnAnotherDeviceWithAWarning) {
  SmallRun run(scratch);
  break_off(run);
  testing::internal::CaptureStderr();
  run.train();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("numerics differ"));
  EXPECT_THAT(said, HasSubstr("algorithms: measured: "));
}

TEST_F(CudaAlgorithms, ADamagedFileIsRefusedBeforeAnythingIsWritten) {
  SmallRun run(scratch);
  run.job().train.algorithms_file = scratch.write("damaged.json", "{\"version\": 1, \"checksum\"");
  Context cuda(Device{DeviceKind::Cuda});
  const std::string error = error_of([&] { run.train_on(cuda); });
  EXPECT_THAT(error, HasSubstr("damaged.json"));
  EXPECT_FALSE(fs::exists(run.directory() / "checkpoints"));
}

TEST_F(CudaAlgorithms, TheFirstChoiceNeedsNoFile) {
  SmallRun one(scratch, "one"), other(scratch, "other");
  for (SmallRun* run : {&one, &other}) run->job().train.algorithms = AlgorithmChoice::First;
  const std::vector<uint64_t> expected = trained(one);
  times(1);
  EXPECT_EQ(trained(other), expected);
  EXPECT_FALSE(fs::exists(file(one)));
  EXPECT_EQ(read_checkpoint_manifest(one.checkpoint(8)).fingerprint.at("algorithms"), "first");
}

TEST_F(CudaAlgorithms, Tf32IsPartOfTheFingerprintAndOfTraining) {
  SmallRun plain(scratch, "plain"), rounded(scratch, "rounded");
  rounded.job().train.tf32 = true;
  EXPECT_NE(trained(rounded), trained(plain));
  EXPECT_EQ(read_checkpoint_manifest(rounded.checkpoint(8)).fingerprint.at("tf32"), "yes");
  EXPECT_FALSE(read_checkpoint_manifest(plain.checkpoint(8)).fingerprint.contains("tf32"));
  rounded.job().train.tf32 = false;
  rounded.job().train.max_steps = 9;
  rounded.job().allow_changes = {"train.max_steps"};
  Context cuda(Device{DeviceKind::Cuda});
  EXPECT_THAT(error_of([&] { rounded.train_on(cuda); }), HasSubstr("train.tf32: true -> false"));
}

// Algorithm tables may differ between checkpoints that are averaged; tokenizers may not.
TEST_F(CudaAlgorithms, CheckpointsWithDifferentTablesAreAveraged) {
  SmallRun run(scratch);
  trained(run);
  const fs::path mean = scratch / "mean";
  average_checkpoints({run.checkpoint(3), run.checkpoint(8)}, mean);
  EXPECT_TRUE(fs::exists(mean / "algorithms.json"));
}

}  // namespace
}  // namespace weft
