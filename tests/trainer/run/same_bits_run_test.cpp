// SPDX-License-Identifier: Apache-2.0
// Whole runs with numerics: same_bits: evaluations, early stopping, stops and resumes on other numbers of replicas.
#include <gtest/gtest.h>

#include <cstdlib>
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
  std::map<int64_t, double> losses, evaluations;  // by step
  bool operator==(const Left&) const = default;
};

// Trains on so many replicas; `after_step` is called on each rank, and what it returns asks for a stop.
void train_on(SmallRun& run, int replicas, ZeroStage zero, const std::function<bool(int64_t step)>& after_step) {
  run.job().parallel.zero_stage = zero;
  check_job(run.job());
  run_in_process({.dp = replicas}, [&](Mesh& mesh, int) {
    Context context(Device{}, 1);
    bool stop = false;
    Trainer trainer(context, mesh, run.job(), {}, {.stop_asked = [&] { return stop; }});
    trainer.run({}, [&](int64_t step) { stop = after_step(step); });
  });
}

int64_t last_step_of(const SmallRun& run) {
  const auto saves = read_metrics(run.directory(), "save");
  return saves.empty() ? -1 : saves.back()["step"].get<int64_t>();
}

Left left_by(const SmallRun& run) {
  const int64_t last = last_step_of(run);
  Left left{.state = run.state_at(last)};
  left.state.run.clear();
  for (const std::string buffer : {kMasterBuffer, "moment1", "moment2"}) {
    left.tensors[buffer] = hashes_by_name(run.checkpoint(last), buffer);
  }
  for (const auto& line : read_metrics(run.directory(), "train")) left.losses[line["step"]] = line["loss"];
  for (const auto& line : read_metrics(run.directory(), "eval")) left.evaluations[line["step"]] = line["loss"];
  return left;
}

struct SameBitsRun : testing::Test {
  SameBitsRun() {
    JobConfig& job = run.job();
    job.numerics = Numerics::SameBits, job.threads = 1, job.device = DeviceChoice::Cpu;
    job.batch.sequences = 9, job.batch.leaf_tokens = 16;
    job.train.max_steps = 24, job.train.spikes = {.window = 4, .bound = 100};
    job.evaluation.every_steps = 2, job.evaluation.patience = 3;
    job.schedule.learning_rate = 0.2;  // so high that the validation loss soon rises
  }

  // Until `last` steps are done.
  void train(int replicas, ZeroStage zero, int64_t last = 1000) {
    train_on(run, replicas, zero, [&](int64_t step) { return step + 1 == last; });
  }
  int64_t last_step() const { return last_step_of(run); }
  Left left() const { return left_by(run); }
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

// Whole runs: 200 steps of nine leaves, with early stopping, whose ranks are killed on one number of replicas and which
// are resumed on another.
struct KilledCase {
  bool pairs;
  Precision precision;
  int replicas;
  ZeroStage zero;
};

std::vector<KilledCase> killed_cases() {
  std::vector<KilledCase> cases;
  if (!std::getenv("WEFT_WHOLE_MATRIX")) return cases;
  for (const bool pairs : {false, true}) {
    for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
      for (const int replicas : {1, 2, 3, 4, 7, 8}) {
        for (const ZeroStage zero : {ZeroStage::Whole, ZeroStage::Optimizer, ZeroStage::Gradients}) {
          if (replicas > 1 || zero == ZeroStage::Whole) cases.push_back({pairs, precision, replicas, zero});
        }
      }
    }
  }
  return cases;
}

std::string pairs_text() {
  std::string text;
  for (int i = 0; i < 90; ++i) text += fmt::format("{:02}\t{:02}\n", i * 37 % 100, i * 37 % 50 + i % 50);
  return text;
}

void make_pairs(JobConfig& job) {
  job.task = Task::Translation;
  job.data.format = TextFormat::Tsv;
  job.data.split = SplitRule::Hash;
  job.tokenizer.specials = {"<s>", "</s>"}, job.tokenizer.bos = "<s>", job.tokenizer.eos = "</s>";
  job.model.encoder_layers = 1, job.model.tying = Tying::All, job.model.positions = Positions::Sinusoidal;
  job.batch.context_length = 0;
}

SmallRun whole_run(const Scratch& scratch, const KilledCase& what) {
  SmallRun run = what.pairs ? SmallRun(scratch, "run", pairs_text(), make_pairs) : SmallRun(scratch);
  JobConfig& job = run.job();
  job.numerics = Numerics::SameBits, job.threads = 1, job.device = DeviceChoice::Cpu;
  job.batch.sequences = 9, job.batch.leaf_tokens = 8;
  job.train.max_steps = 200, job.train.precision = what.precision, job.train.verify_every = 50;
  job.evaluation.every_steps = 20, job.evaluation.patience = 6;
  job.checkpoint.every_steps = 30;
  return run;
}

class SameBitsKilled : public testing::TestWithParam<KilledCase> {};

TEST_P(SameBitsKilled, EndsAsOneReplicaThatNothingStops) {
  const KilledCase& what = GetParam();
  static std::map<std::pair<bool, Precision>, Left> expected;
  const Scratch scratch;
  SmallRun run = whole_run(scratch, what);
  const auto found = expected.find({what.pairs, what.precision});
  if (found == expected.end()) {
    train_on(run, 1, ZeroStage::Whole, [](int64_t) { return false; });
    expected[{what.pairs, what.precision}] = left_by(run);
    fs::remove_all(run.directory());
  }
  const auto killed = [](int64_t step) -> bool {
    if (step == 101) throw std::runtime_error("killed");
    return false;
  };
  const int before = what.replicas % 8 + 1;
  EXPECT_THROW(train_on(run, before, what.zero, killed), std::runtime_error);
  train_on(run, what.replicas, what.zero, [](int64_t) { return false; });
  EXPECT_EQ(left_by(run), (expected[{what.pairs, what.precision}]));
}

std::string killed_name(const testing::TestParamInfo<KilledCase>& info) {
  const KilledCase& what = info.param;
  return fmt::format("{}{}_{}_zero{}", what.pairs ? "Pairs" : "Gpt",
                     what.precision == Precision::Bf16 ? "Bf16" : "Fp32", what.replicas, static_cast<int>(what.zero));
}

INSTANTIATE_TEST_SUITE_P(Whole, SameBitsKilled, testing::ValuesIn(killed_cases()), killed_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SameBitsKilled);

}  // namespace
}  // namespace weft
