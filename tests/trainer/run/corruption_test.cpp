// SPDX-License-Identifier: Apache-2.0
// Bits that change without an error: flipped in weights, tokens and masters of one rank, found and named.
#include "trainer/step/corruption.h"

#include <gmock/gmock.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "data/batches/batch_plan_windows.h"
#include "parallel/local/in_process.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/layout_run.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Suspects suspects(std::optional<uint64_t> in_step, uint64_t again, std::vector<uint64_t> others, int replicas = 4) {
  return suspects_of({.in_step = in_step, .again = again, .others = std::move(others)}, 2, replicas);
}

TEST(SuspectsOf, AgreementSuspectsNobody) {
  EXPECT_TRUE(suspects(7, 7, {7, 7}).replicas.empty());
  EXPECT_TRUE(suspects({}, 7, {7}).replicas.empty());
  EXPECT_TRUE(suspects(7, 7, {}).replicas.empty());
  EXPECT_TRUE(suspects_of({.in_step = {}, .again = {}, .others = {0, 0}}, 2, 4).replicas.empty()) << "no micro-batch";
}

TEST(SuspectsOf, WhatHappensOnceNamesItsReplica) {
  const Suspects found = suspects(8, 7, {7, 7});
  EXPECT_EQ(found.replicas, std::vector<int>{2});
  EXPECT_TRUE(found.once);
  EXPECT_EQ(suspects(7, 8, {7, 7}).replicas, std::vector<int>{2});
}

TEST(SuspectsOf, WhatLastsNamesThePairOrWithAThirdTheReplica) {
  EXPECT_EQ(suspects(8, 8, {7}).replicas, (std::vector<int>{2, 3}));
  EXPECT_EQ(suspects(8, 8, {7, 7}).replicas, std::vector<int>{2});
  EXPECT_EQ(suspects(7, 7, {8, 7}).replicas, std::vector<int>{3});
  EXPECT_EQ(suspects(7, 7, {7, 8}).replicas, std::vector<int>{0}) << "two places on, of four";
  EXPECT_EQ(suspects(7, 7, {8, 9}).replicas, (std::vector<int>{2, 3, 0}));
}

TEST(Outvoted, AreThoseThatMostDoNotAgreeWith) {
  const auto of = [](std::vector<uint64_t> digests) { return outvoted(digests); };
  EXPECT_EQ(of({7, 7, 7}), std::vector<int>{});
  EXPECT_EQ(of({7, 8, 7}), std::vector<int>{1});
  EXPECT_EQ(of({7, 8, 7, 9, 7}), (std::vector<int>{1, 3}));
  EXPECT_EQ(of({7, 8}), (std::vector<int>{0, 1})) << "two cannot outvote each other";
  EXPECT_EQ(of({7}), std::vector<int>{});
}

struct Corruption : testing::Test {
  Corruption() {
    run.job().batch.sequences = 9;
    run.job().train.verify_every = 5;
  }
  void use_same_bits() {
    run.job().numerics = Numerics::SameBits, run.job().threads = 1, run.job().device = DeviceChoice::Cpu;
    run.job().batch.leaf_tokens = 16;
  }
  // Trains; `change` gets rank 1's trainer after the step `when`.
  void train(int replicas, ZeroStage zero, int64_t when = -1, const std::function<void(Trainer&)>& change = {}) {
    run.job().parallel.zero_stage = zero;
    fs::remove_all(run.directory());
    run_in_process({.dp = replicas}, [&](Mesh& mesh, int rank) {
      Context context(Device{}, 1);
      Trainer trainer(context, mesh, run.job());
      trainer.run({}, [&](int64_t step) {
        if (step != when) return;
        trainer.model().parameters().finish_weight_gather();
        if (rank == 1) change(trainer);
      });
    });
  }
  std::string error_with(int replicas, ZeroStage zero, int64_t when, const std::function<void(Trainer&)>& change) {
    return error_of<CorruptionError>([&] { train(replicas, zero, when, change); });
  }
  std::vector<int64_t> looked() const {
    std::vector<int64_t> steps;
    for (const auto& line : read_metrics(run.directory(), "check")) steps.push_back(line["step"]);
    return steps;
  }
  bool saved(int64_t step) const { return fs::exists(run.checkpoint(step)); }

  Scratch scratch;
  SmallRun run{scratch};
};

void flip(float& value, uint32_t bit) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  bits ^= bit;
  std::memcpy(&value, &bits, sizeof bits);
}

void flip_a_weight(Trainer& trainer) {
  flip(trainer.model().parameters().find("decoder.0.ffn.up.weight")->value().data<float>()[5], 1);
}

TEST_F(Corruption, SoundRunsAreNotSuspectedAndNotChanged) {
  for (const bool same_bits : {false, true}) {
    if (same_bits) use_same_bits();
    for (const auto& [replicas, zero] : {std::pair(1, ZeroStage::Whole), std::pair(2, ZeroStage::Whole),
                                         std::pair(3, ZeroStage::Gradients), std::pair(3, ZeroStage::Optimizer)}) {
      run.job().train.verify_every = 1;
      train(replicas, zero);
      EXPECT_EQ(looked(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
      const auto with = hashes_by_name(run.checkpoint(8), kMasterBuffer);
      run.job().train.verify_every = 0;
      train(replicas, zero);
      EXPECT_TRUE(looked().empty());
      EXPECT_EQ(hashes_by_name(run.checkpoint(8), kMasterBuffer), with) << replicas;
    }
  }
}

TEST_F(Corruption, AFlippedWeightNamesItsRankOrThePair) {
  for (const bool same_bits : {false, true}) {
    if (same_bits) use_same_bits();
    for (const ZeroStage zero : {ZeroStage::Whole, ZeroStage::Optimizer, ZeroStage::Gradients}) {
      EXPECT_THAT(error_with(3, zero, 4, flip_a_weight),
                  AllOf(HasSubstr("step 5: rank 1 on "), HasSubstr("computes another gradient than other ranks"),
                        HasSubstr("the step is not applied"), Not(HasSubstr("rank 0")), Not(HasSubstr("rank 2"))));
      EXPECT_FALSE(saved(6));
      EXPECT_THAT(error_with(2, zero, 4, flip_a_weight),
                  AllOf(HasSubstr("rank 0 on "), HasSubstr("rank 1 on "), HasSubstr("do not agree on a gradient")));
    }
  }
}

TEST_F(Corruption, AFlippedMasterIsComparedWithItsDigest) {
  for (const ZeroStage zero : {ZeroStage::Whole, ZeroStage::Optimizer, ZeroStage::Gradients}) {
    const auto flip_a_master = [](Trainer& trainer) {
      flip(trainer.model().parameters().master().data.data<float>()[7], 1U << 30);
    };
    EXPECT_THAT(error_with(2, zero, 5, flip_a_master), AllOf(HasSubstr("step 6: weights or moments of rank 1 on "),
                                                             HasSubstr("have changed since the update before")));
  }
}

// One step of three replicas that is checked: of each of them `before` gets its tokens, and `between` its gradients
// once they are summed.
struct CheckedStep {
  std::function<void(int rank, StepBatches& mine)> before = [](int, StepBatches&) {};
  std::function<void(int rank, ParameterRegistry& parameters)> between = [](int, ParameterRegistry&) {};
};

std::string error_of_step(const CheckedStep& with) {
  return error_of<CorruptionError>([&] {
    run_in_process({.dp = 3}, [&](Mesh& mesh, int rank) {
      Context context(Device{}, 1);
      const auto model = make_model(context, mesh, {.config = small_config(false), .vocabularies = {.target = 50}});
      model->allocate(Precision::Fp32, Purpose::Training, {.exact = true});
      model->parameters().initialise(4);
      Optimizer optimizer(context, model->parameters(), {});
      TrainingStep step(*model, optimizer, {});
      CorruptionChecks checks(step, mesh, context, 17, "all alike");
      const auto planned = make_window_plan({.sequences = 6, .context_length = 8}, 200, 1)->step(0, 0);
      const PatternReader reader(50, false);
      const auto read = [&](int replica) {
        return read_step(planned, reader, replica, 3, 8, Padding::None, StepCut::Leaves);
      };
      StepBatches mine = read(rank);
      with.before(rank, mine);
      const StepState state{.learning_rate = 1e-2};
      int64_t updates = 0;
      const auto check = checks.before(17, read, state);
      const auto between = [&] { with.between(rank, model->parameters()), check(); };
      step.run(mine, state, updates, 0, {.before_update = between});
    });
  });
}

// Its step differs from what it computes from what it reads again.
TEST(CorruptionChecks, AFlippedTokenNamesItsRank) {
  const auto flip_a_token = [](int rank, StepBatches& mine) {
    if (rank == 2) mine.micro[0].input.tokens[3] ^= 1;
  };
  EXPECT_THAT(error_of_step({.before = flip_a_token}),
              AllOf(HasSubstr("step 17: rank 2 on "), HasSubstr("than the same ranks before or after")));
}

TEST(CorruptionChecks, AFlippedSumNamesItsRank) {
  const auto flip_a_sum = [](int rank, ParameterRegistry& parameters) {
    if (rank == 1) flip(parameters.reduced_gradient().data.data<float>()[70], 1);
  };
  EXPECT_THAT(
      error_of_step({.between = flip_a_sum}),
      AllOf(HasSubstr("step 17: rank 1 on "), HasSubstr("has other sums of gradients than the other replicas")));
}

}  // namespace
}  // namespace weft
