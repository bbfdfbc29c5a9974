// Invariant 1 (data parallel): a layout changes the speed of a run, not its losses or gradient norms.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <mutex>

#include "base/hash.h"
#include "data/batch_plan.h"
#include "data/loader.h"
#include "parallel/in_process.h"
#include "tests/model/fixture.h"
#include "trainer/training_step.h"

namespace weft {
namespace {

// Sequences made of their index: a short pattern that a small model learns.
class PatternReader : public SequenceReader {
 public:
  explicit PatternReader(int64_t vocabulary) : vocabulary_(vocabulary) {}
  void read(const PlannedSequence& s, std::span<int32_t> source, std::span<int32_t> target) const override {
    for (size_t i = 0; i < source.size(); ++i) source[i] = token(s.index, i);
    for (size_t i = 0; i < target.size(); ++i) target[i] = token(s.index, 2 * i);
  }

 private:
  int32_t token(int64_t index, size_t i) const {
    return static_cast<int32_t>((index * 3 + static_cast<int64_t>(i) * (1 + index % 3)) %
                                std::min<int64_t>(vocabulary_, 20));
  }
  int64_t vocabulary_;
};

struct Case {
  std::string name;
  bool seq2seq;
  int64_t vocabulary;
  int64_t steps;
  Precision precision = Precision::Fp32;
};

struct TrainedRun {
  std::vector<double> losses, norms;
  std::vector<uint64_t> weights;  // a hash by rank
};

std::shared_ptr<const BatchPlan> make_plan(bool seq2seq) {
  if (!seq2seq) return make_window_plan({.sequences = 5, .context = 16}, 16 * 43, 9);
  PairLengths lengths;
  for (int i = 0; i < 60; ++i) lengths.source.push_back(1 + i % 16), lengths.target.push_back(2 + i * 7 % 15);
  return make_pair_plan({.tokens = 60, .order = BatchOrder::Bucketed}, lengths, 9);
}

TrainedRun train(const Case& c, int dp, int64_t micro_rows) {
  TrainedRun run;
  run.weights.resize(static_cast<size_t>(dp));
  std::mutex mutex;
  run_in_process({.dp = dp}, [&](Mesh& mesh, int rank) {
    Context context;
    TransformerConfig config = test::small_config(c.seq2seq);
    config.width = 64, config.heads = 4, config.ffn = 96, config.max_length = 33, config.init_deviation = 0.05;
    config.tying = Tying::All;
    config.dropout = {.embedding = 0.1, .residual = 0.1, .ffn = 0.1, .attention = 0.1};
    const auto model =
        make_model(context, mesh, config, {.source = c.seq2seq ? c.vocabulary : 0, .target = c.vocabulary});
    model->allocate(c.precision, true);
    model->parameters().initialise(4);
    Optimizer optimizer(context, model->parameters(), {.weight_decay = 0.1});
    TrainingStep step(*model, optimizer, {.label_smoothing = 0.1, .clip_norm = 1.0, .bucket_bytes = 20'000});
    const auto plan = make_plan(c.seq2seq);
    const PatternReader reader(c.vocabulary);
    Position position;
    int64_t updates = 0;
    for (int64_t i = 0; i < c.steps; ++i) {
      const auto batches =
          read_step(plan->step(position.epoch, position.step), reader, mesh.dp().rank(), dp, micro_rows);
      StepState state{.step = i, .learning_rate = 3e-3, .dropout_key = hash64("key", static_cast<uint64_t>(i))};
      const StepReport report = step.run(batches, state, updates, 0, {});
      if (rank == 0) run.losses.push_back(report.loss), run.norms.push_back(report.gradient_norm);
      position = plan->after(position);
    }
    const Tensor& flat = model->parameters().flat_master();
    const std::lock_guard lock(mutex);
    run.weights[rank] = hash64({reinterpret_cast<const char*>(flat.raw()), flat.bytes()});
  });
  return run;
}

class Parity : public testing::TestWithParam<Case> {};

TEST_P(Parity, LayoutsAndMicroBatchesGiveTheSameRun) {
  const Case& c = GetParam();
  const TrainedRun one = train(c, 1, 0);
  // bf16 rounds sums of other groupings otherwise; fp32 bounds are those of invariant 1.
  const double first = c.precision == Precision::Bf16 ? 2e-2 : 1e-5,
               later = c.precision == Precision::Bf16 ? 5e-2 : 1e-3;
  if (c.steps >= 50) {
    EXPECT_LT(one.losses.back(), one.losses.front() - 1);
  }
  for (const auto& [dp, micro] :
       {std::pair{1, 17}, std::pair{2, 0}, std::pair{3, 20}, std::pair{4, 0}, std::pair{7, 0}}) {
    const TrainedRun other = train(c, dp, micro);
    for (size_t i = 0; i < one.losses.size(); ++i) {
      const double bound = i == 0 ? first : later;
      EXPECT_NEAR(other.losses[i], one.losses[i], bound * one.losses[i]) << "dp " << dp << " step " << i;
      EXPECT_NEAR(other.norms[i], one.norms[i], bound * one.norms[i]) << "dp " << dp << " step " << i;
    }
    for (const uint64_t w : other.weights) EXPECT_EQ(w, other.weights[0]) << "replicas differ, dp " << dp;
    EXPECT_EQ(train(c, dp, micro).weights, other.weights) << "two runs of one layout differ, dp " << dp;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Parity,
                         testing::Values(Case{"Gpt", false, 50, 50}, Case{"Seq2Seq", true, 50, 50},
                                         Case{"GptLargeVocabulary", false, 50257, 2},
                                         Case{"Seq2SeqBf16", true, 50, 10, Precision::Bf16}),
                         [](const auto& info) { return info.param.name; });

// U-6.5: a rank whose loss is not finite makes every rank skip, and nothing changes.
TEST(Parity, NonFiniteStepsAreSkippedByAll) {
  run_in_process({.dp = 2}, [](Mesh& mesh, int) {
    Context context;
    const auto model = make_model(context, mesh, test::small_config(false), {.target = 50});
    model->allocate(Precision::Fp32, true);
    model->parameters().initialise(4);
    Optimizer optimizer(context, model->parameters(), {});
    TrainingStep step(*model, optimizer, {.clip_norm = 1.0});
    const auto plan = make_window_plan({.sequences = 4, .context = 8}, 200, 1);
    const PatternReader reader(50);
    const auto batches = read_step(plan->step(0, 0), reader, mesh.dp().rank(), 2, 0);
    int64_t updates = 0;
    StepState state{.learning_rate = 1e-2};
    step.run(batches, state, updates, 0, {});
    EXPECT_EQ(updates, 1);
    const Tensor& flat = model->parameters().flat_master();
    const std::vector<float> before(flat.data<float>(), flat.data<float>() + flat.elements());
    // An infinite weight on one rank alone: its loss is not a number, the other's is.
    float* w = model->parameters().find("decoder.embedding.positions")->master().data<float>();
    const float kept = w[3];
    if (mesh.dp().rank() == 1) w[3] = std::numeric_limits<float>::infinity();
    const StepReport report = step.run(batches, state, updates, 0, {});
    if (mesh.dp().rank() == 1) w[3] = kept;
    EXPECT_TRUE(report.skipped);
    EXPECT_EQ(updates, 1);
    EXPECT_EQ(0, std::memcmp(before.data(), flat.raw(), flat.bytes()));
    const StepReport healed = step.run(batches, state, updates, 0, {});
    EXPECT_FALSE(healed.skipped);
  });
}

}  // namespace
}  // namespace weft
