// SPDX-License-Identifier: Apache-2.0
// Steps whose loss or gradient norm jumps are skipped by all ranks, as those that are not finite are.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "parallel/local/in_process.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

// Weights that are a thousand times what they should be while some steps are computed, each once, so that loss and
// gradient jump.
class Jumps {
 public:
  Jumps(Transformer& model, std::set<int64_t> steps)
      : weights_(model.parameters().find("decoder.final_norm.weight")->value()), steps_(std::move(steps)) {}
  void after(int64_t step) {
    float* w = weights_.data<float>();
    if (step == jump_) std::copy(kept_.begin(), kept_.end(), w);  // after a rollback they are what they should be
    jump_ = -1;
    if (steps_.erase(step + 1) == 0) return;
    jump_ = step + 1;
    kept_.assign(w, w + weights_.elements());
    for (size_t i = 0; i < kept_.size(); ++i) w[i] *= 1000;
  }

 private:
  Tensor weights_;
  std::set<int64_t> steps_;
  int64_t jump_ = -1;
  std::vector<float> kept_;
};

// The run compares each step with the four before it.
struct SpikyRun : testing::Test {
  SpikyRun() {
    run.job().train.spikes = {.window = 4, .bound = 100};
    run.job().train.max_nonfinite_steps = 2, run.job().train.max_steps = 12;
  }

  // Trains until the step `last`, then is stopped.
  void train(int ranks, const std::set<int64_t>& high, int64_t last = 12) {
    run_in_process({.dp = ranks}, [&](Mesh& mesh, int) {
      Context context(Device{}, 1);
      bool stop = false;
      Trainer trainer(context, mesh, run.job(), {}, {.stop_asked = [&] { return stop; }});
      Jumps jumps(trainer.model(), high);
      trainer.run({}, [&](int64_t step) {
        jumps.after(step);
        stop = step + 1 == last && last < 12;
      });
    });
  }
  std::vector<int64_t> skipped() const {
    std::vector<int64_t> steps;
    for (const auto& line : read_metrics(run.directory(), "skip")) steps.push_back(line["step"]);
    return steps;
  }

  Scratch scratch;
  SmallRun run{scratch};
};

TEST_F(SpikyRun, SkipsASpikeOnAllRanks) {
  for (const SpikeOf of : {SpikeOf::Loss, SpikeOf::Norm, SpikeOf::Either}) {
    run.job().train.spikes.of = of;
    for (const int ranks : {1, 2}) {
      fs::remove_all(run.directory());
      train(ranks, {8});
      EXPECT_EQ(skipped(), std::vector<int64_t>{8}) << ranks;
      EXPECT_TRUE(read_metrics(run.directory(), "skip")[0]["spike"]);
      EXPECT_EQ(run.state_at(12).updates, 11);
      EXPECT_EQ(run.state_at(12).skips, 1);
      EXPECT_EQ(run.state_at(12).recent_losses.size(), 4u);
    }
  }
}

TEST_F(SpikyRun, LeavesSpikesOutOfTheWindow) {
  run.job().checkpoint.every_steps = 1;
  train(1, {8});
  const RunState before = run.state_at(7), after = run.state_at(9);
  EXPECT_FALSE(fs::exists(run.checkpoint(8)));                 // no save while steps are skipped
  EXPECT_EQ(after.recent_losses[2], before.recent_losses[3]);  // the spike is not in the window
}

TEST_F(SpikyRun, NoStepIsASpikeBeforeTheWindowIsFull) {
  train(1, {4});
  EXPECT_TRUE(skipped().empty());
}

TEST_F(SpikyRun, DivergesAfterTooManySpikes) {
  const std::string said = error_of([&] { train(2, {7, 8, 9}); });
  EXPECT_NE(said.find("step 9: 3 steps in a row had a loss or gradient that is not finite, or a spike"),
            std::string::npos)
      << said;
}

// Weights jump before the save that is due after the same step: that of step 6 is sound.
TEST_F(SpikyRun, RollsBackAfterTooManySpikes) {
  run.job().train.on_divergence = OnDivergence::RollBack;
  for (const int ranks : {1, 2}) {
    fs::remove_all(run.directory());
    train(ranks, {8, 9, 10});
    EXPECT_EQ(run.rollbacks(), (Rollbacks{{10, 6}})) << ranks;
    EXPECT_EQ(run.state_at(12).updates, 12);
  }
}

// A run that is resumed in the middle of a window decides, and ends, as one that was never interrupted.
TEST_F(SpikyRun, ResumesInTheMiddleOfAWindow) {
  for (const int ranks : {1, 2}) {
    fs::remove_all(run.directory());
    train(ranks, {9});
    const auto whole = tensor_hashes(run.checkpoint(12));
    const RunState end = run.state_at(12);
    fs::remove_all(run.directory());
    train(ranks, {9}, 7);
    EXPECT_EQ(run.state_at(7).recent_losses.size(), 4u);
    train(ranks, {9});
    EXPECT_EQ(skipped(), std::vector<int64_t>{9}) << ranks;
    EXPECT_EQ(tensor_hashes(run.checkpoint(12)), whole) << ranks;
    EXPECT_EQ(run.state_at(12).recent_losses, end.recent_losses) << ranks;
    EXPECT_EQ(run.state_at(12).recent_norms, end.recent_norms) << ranks;
  }
}

// Without spikes the window changes neither the weights nor, where it is off, the state.
TEST_F(SpikyRun, ChangesNoBitWithoutASpike) {
  train(1, {});
  const auto watched = tensor_hashes(run.checkpoint(12));
  fs::remove_all(run.directory());
  run.job().train.spikes = {};
  train(1, {});
  EXPECT_EQ(tensor_hashes(run.checkpoint(12)), watched);
  EXPECT_FALSE(read_checkpoint_manifest(run.checkpoint(12)).state.contains("recent_losses"));
  fs::remove_all(run.directory());
  train(1, {8});
  EXPECT_TRUE(skipped().empty());
}

}  // namespace
}  // namespace weft
