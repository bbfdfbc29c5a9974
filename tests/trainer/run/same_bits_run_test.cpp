// SPDX-License-Identifier: Apache-2.0
// Whole runs with numerics: same_bits: evaluations, early stopping, stops and resumes on other numbers of replicas.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "parallel/local/in_process.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

// What a run leaves that must not depend on where it ran.
struct Left {
  std::map<std::string, std::map<std::string, uint64_t>> tensors;  // by buffer and name
  RunState state;
  std::vector<double> losses, evaluations;
  bool operator==(const Left&) const = default;
};

struct SameBitsRun : testing::Test {
  SameBitsRun() {
    JobConfig& job = run.job();
    job.numerics = Numerics::SameBits, job.threads = 1, job.device = DeviceChoice::Cpu;
    job.batch.sequences = 9, job.batch.leaf_tokens = 16;
    job.train.max_steps = 24, job.train.spikes = {.window = 4, .bound = 100};
    job.evaluation.every_steps = 2, job.evaluation.patience = 3;
    job.schedule.learning_rate = 0.2;  // so high that the validation loss soon rises
  }

  // Trains on so many replicas until `last` steps are done.
  void train(int replicas, ZeroStage zero, int64_t last = 1000) {
    run.job().parallel.zero_stage = zero;
    check_job(run.job());
    run_in_process({.dp = replicas}, [&](Mesh& mesh, int) {
      Context context(Device{}, 1);
      bool stop = false;
      Trainer trainer(context, mesh, run.job(), {}, {.stop_asked = [&] { return stop; }});
      trainer.run({}, [&](int64_t step) { stop = step + 1 == last; });
    });
  }
  int64_t last_step() const {
    const auto saves = read_metrics(run.directory(), "save");
    return saves.empty() ? -1 : saves.back()["step"].get<int64_t>();
  }
  Left left() const {
    Left left{.state = run.state_at(last_step())};
    left.state.run.clear();
    for (const std::string buffer : {kMasterBuffer, "moment1", "moment2"}) {
      left.tensors[buffer] = hashes_by_name(run.checkpoint(last_step()), buffer);
    }
    for (const auto& line : read_metrics(run.directory(), "train")) left.losses.push_back(line["loss"]);
    for (const auto& line : read_metrics(run.directory(), "eval")) left.evaluations.push_back(line["loss"]);
    return left;
  }
  void clear() const { fs::remove_all(run.directory()); }

  Scratch scratch;
  SmallRun run{scratch};
};

TEST_F(SameBitsRun, EndsTheSameOnAnyReplicasAndResumedOnOthers) {
  train(1, ZeroStage::Whole);
  const Left one = left();
  EXPECT_LT(one.state.step, 24) << "patience ends it before its last step";
  EXPECT_FALSE(one.state.exponents.empty());
  for (const auto& [replicas, zero] : {std::pair(2, ZeroStage::Whole), std::pair(3, ZeroStage::Gradients)}) {
    clear();
    train(replicas, zero);
    EXPECT_EQ(left(), one) << replicas;
  }
  clear();
  train(3, ZeroStage::Optimizer, 4);
  ASSERT_LT(last_step(), one.state.step);
  train(1, ZeroStage::Whole, 7);
  train(2, ZeroStage::Gradients);
  EXPECT_EQ(left(), one);
}

TEST_F(SameBitsRun, RefusesToResumeWithOtherNumerics) {
  train(1, ZeroStage::Whole, 3);
  run.job().threads = 2;
  const auto resumed = [&] {
    Context context(Device{}, 2);
    Mesh mesh = Mesh::single();
    Trainer(context, mesh, run.job()).run({});
  };
  const std::string refusal = error_of<ConfigError>(resumed);
  EXPECT_NE(refusal.find("threads: 1, now 2"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("allow_changes=[numerics]"), std::string::npos) << refusal;
  run.job().allow_changes = {"numerics"};
  resumed();
  EXPECT_GT(last_step(), 3);
}

TEST_F(SameBitsRun, RefusesMoreReplicasThanLeaves) {
  run.job().batch.leaf_tokens = 40;  // nine windows of eight tokens in two leaves
  const std::string refusal = error_of<ConfigError>([&] { train(3, ZeroStage::Whole); });
  EXPECT_NE(refusal.find("3 replicas"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("2 leaves"), std::string::npos) << refusal;
}

TEST_F(SameBitsRun, StepThatIsNotFiniteIsSkippedByAllAndChangesNothing) {
  std::vector<std::map<std::string, uint64_t>> ends;
  for (const int replicas : {1, 3}) {
    clear();
    run.job().train.max_steps = 8;
    run_in_process({.dp = replicas}, [&](Mesh& mesh, int) {
      Context context(Device{}, 1);
      Trainer trainer(context, mesh, run.job());
      float* const w = trainer.model().parameters().find("decoder.final_norm.weight")->value().data<float>();
      float kept = 0;
      trainer.run({}, [&](int64_t step) {
        if (step == 4) kept = std::exchange(w[1], std::numeric_limits<float>::infinity());
        if (step == 5) w[1] = kept;
      });
    });
    EXPECT_EQ(run.state_at(last_step()).skips, 1);
    ends.push_back(hashes_by_name(run.checkpoint(last_step()), kMasterBuffer));
  }
  EXPECT_EQ(ends[0], ends[1]);
}

}  // namespace
}  // namespace weft
