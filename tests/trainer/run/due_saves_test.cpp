// SPDX-License-Identifier: Apache-2.0
// When a run saves by the clock, and what it makes sure of before each save.
#include <gmock/gmock.h>

#include "parallel/local/in_process.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;

struct DueSaves : testing::Test {
  // Trains on the layout; `after_step` gets the model, the rank and the step.
  void train(const MeshLayout& layout, const std::function<void(Transformer&, int, int64_t)>& after_step = {}) {
    run_in_process(layout, [&](Mesh& mesh, int rank) {
      Context context(Device{}, 1);
      Trainer trainer(context, mesh, run.job());
      trainer.run({}, [&](int64_t step) {
        if (after_step) after_step(trainer.model(), rank, step);
      });
    });
  }
  std::string error_if_a_bit_changes(const MeshLayout& layout, const std::string& weight);
  std::vector<int64_t> saved_steps() const {
    std::vector<int64_t> steps;
    for (int64_t step = 1; step <= 8; ++step) {
      if (fs::exists(run.checkpoint(step))) steps.push_back(step);
    }
    return steps;
  }

  Scratch scratch;
  SmallRun run{scratch};
};

// Rank 0's clock decides for all ranks, so that they save the same step.
TEST_F(DueSaves, FollowTheClock) {
  run.job().checkpoint.every_steps = 0;
  for (const MeshLayout& layout : {MeshLayout{}, MeshLayout{.dp = 2}}) {
    fs::remove_all(run.directory());
    run.job().checkpoint.every_minutes = 1e-9;
    train(layout);
    EXPECT_THAT(saved_steps(), testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
    fs::remove_all(run.directory());
    run.job().checkpoint.every_minutes = 1000;
    train(layout);
    EXPECT_THAT(saved_steps(), testing::ElementsAre(8));
  }
}

// A bit of this weight changes on rank 1 after step 4, which no collective sees. The save of step 3 is there; that of
// step 6 is the next, and this is its error.
std::string DueSaves::error_if_a_bit_changes(const MeshLayout& layout, const std::string& weight) {
  return error_of([&] {
    train(layout, [&](Transformer& model, int rank, int64_t step) {
      if (rank != 1 || step != 4) return;
      auto* bits = reinterpret_cast<uint32_t*>(model.parameters().find(weight)->value().raw());
      bits[0] ^= 1;
    });
  });
}

TEST_F(DueSaves, AreRefusedIfReplicasDiffer) {
  EXPECT_THAT(error_if_a_bit_changes({.dp = 2}, "decoder.0.ffn.up.weight"),
              HasSubstr("step 6: the dp ranks hold different weights"));
  EXPECT_THAT(saved_steps(), testing::ElementsAre(3));
}

TEST_F(DueSaves, AreRefusedIfShardsOfAReplicaDifferInWhatTheyShare) {
  EXPECT_THAT(error_if_a_bit_changes({.tp = 2}, "decoder.final_norm.weight"),
              HasSubstr("step 6: the tp ranks hold different weights that the axis does not divide"));
  EXPECT_THAT(saved_steps(), testing::ElementsAre(3));
}

}  // namespace
}  // namespace weft
