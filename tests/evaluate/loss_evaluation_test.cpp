// SPDX-License-Identifier: Apache-2.0
// Every target of a split is scored once, whatever the layout and however the split is cut.
#include "evaluate/loss_evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "base/divide_up.h"
#include "job/vocabularies.h"
#include "parallel/local/in_process.h"
#include "tests/data/dataset/fixture.h"
#include "tests/support/guarded_context.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

struct LossEvaluation : testing::Test {
  LossReport evaluate(int dp, const EvaluationOptions& options, double smoothing = 0) {
    LossReport report;
    std::mutex mutex;
    run_in_process({.dp = dp}, [&](Mesh& mesh, int rank) {
      Context context;
      const auto dataset = std::make_shared<const Dataset>(Dataset::open(run.job().data.directory, DataSplit::Valid));
      const auto model = make_model(context, mesh, spec_of(*dataset));
      model->allocate(Precision::Fp32, Purpose::Inference);
      model->parameters().initialise(4);
      const LossReport mine = evaluate_loss(*model, dataset, options, smoothing);
      const std::lock_guard lock(mutex);
      if (rank == 0) report = mine;
    });
    return report;
  }
  ModelSpec spec_of(const Dataset& dataset) {
    return {.config = run.job().model, .vocabularies = vocabularies_of(dataset.header())};
  }
  double vocabulary() {
    return static_cast<double>(Dataset::open(run.job().data.directory, DataSplit::Valid).header().target.vocabulary);
  }
  int64_t tokens() { return Dataset::open(run.job().data.directory, DataSplit::Valid).num_tokens(); }

  Scratch scratch;
  SmallRun run{scratch};
};

TEST_F(LossEvaluation, LayoutAndStepsChangeNothing) {
  const LossReport one = evaluate(1, {.context_length = 8});
  EXPECT_EQ(one.targets, tokens() - 1);
  EXPECT_NEAR(one.mean_nll(), std::log(vocabulary()), 0.1 * std::log(vocabulary()));
  for (const int dp : {1, 2, 3}) {
    for (const int64_t rows : {8, 24, 1000}) {
      const LossReport other = evaluate(dp, {.context_length = 8, .step_tokens = rows});
      EXPECT_EQ(other.targets, one.targets);
      EXPECT_EQ(other.sequences, one.sequences);
      EXPECT_NEAR(other.nll, one.nll, 1e-6 * one.nll) << "dp " << dp << " rows " << rows;
    }
  }
}

// With leaves not a bit depends on the replicas, of which some have nothing at the end.
TEST_F(LossEvaluation, LeavesHaveTheSameBitsOnAnyReplicas) {
  const EvaluationOptions options{.context_length = 8, .step_tokens = 24, .leaves = true};
  const LossReport one = evaluate(1, options, 0.1), ordinary = evaluate(1, {.context_length = 8}, 0.1);
  EXPECT_EQ(one.targets, ordinary.targets);
  EXPECT_EQ(one.sequences, ordinary.sequences);
  EXPECT_NEAR(one.nll, ordinary.nll, 1e-6 * one.nll);
  for (const int dp : {2, 3, 5, 7}) {
    const LossReport other = evaluate(dp, options, 0.1);
    EXPECT_EQ(other.nll, one.nll) << dp;
    EXPECT_EQ(other.loss, one.loss) << dp;
    EXPECT_EQ(other.targets, one.targets) << dp;
    EXPECT_EQ(other.steps, one.steps) << dp;
  }
  const LossReport few = evaluate(7, {.context_length = 8, .step_tokens = 24, .max_sequences = 5, .leaves = true});
  EXPECT_EQ(few.sequences, 5) << "more replicas than leaves";
}

// A step grows with the replicas: on three replicas a split takes a third of the steps, and each has windows in
// every step.
TEST_F(LossEvaluation, EveryReplicaTakesPart) {
  const EvaluationOptions options{.context_length = 8, .step_tokens = 16};
  const LossReport one = evaluate(1, options);
  ASSERT_GT(one.steps, 6);
  EXPECT_EQ(evaluate(3, options).steps, divide_up(one.steps, 3));
  EXPECT_EQ(one.steps, divide_up(one.sequences, 2));
}

// Before every fourth step, all ranks are asked at the same step.
TEST_F(LossEvaluation, IsGivenUpByAllRanksAtOnce) {
  run_in_process({.dp = 2}, [&](Mesh& mesh, int) {
    Context context;
    const auto dataset = std::make_shared<const Dataset>(Dataset::open(run.job().data.directory, DataSplit::Valid));
    const auto model = make_model(context, mesh, spec_of(*dataset));
    model->allocate(Precision::Fp32, Purpose::Inference);
    model->parameters().initialise(4);
    const EvaluationOptions options{.context_length = 8, .step_tokens = 8};
    int64_t asked = 0;
    const auto third_time = [&] { return ++asked == 3; };
    const LossReport report = evaluate_loss(*model, dataset, options, 0, third_time);
    EXPECT_TRUE(report.given_up);
    EXPECT_EQ(asked, 3);
    EXPECT_EQ(report.sequences, 2 * 4 * 2);  // eight steps, one window for each replica
    EXPECT_FALSE(evaluate_loss(*model, dataset, options, 0, [] { return false; }).given_up);
  });
}

// The sums of a split are read once, at its end, and equal those of the plain device.
TEST_F(LossEvaluation, AGuardedDeviceIsReadOnce) {
  const EvaluationOptions options{.context_length = 8, .step_tokens = 24};
  const auto context = guarded_context();
  Mesh mesh = Mesh::single();
  const auto dataset = std::make_shared<const Dataset>(Dataset::open(run.job().data.directory, DataSplit::Valid));
  const auto model = make_model(*context, mesh, spec_of(*dataset));
  model->allocate(Precision::Fp32, Purpose::Inference);
  model->parameters().initialise(4);
  const LossReport guarded = evaluate_loss(*model, dataset, options, 0.1);
  const LossReport plain = evaluate(1, options, 0.1);
  EXPECT_EQ(guarded.nll, plain.nll);
  EXPECT_EQ(guarded.loss, plain.loss);
  EXPECT_EQ(context->ledger().entries().at("download").calls, 1);
}

TEST_F(LossEvaluation, OverlappingWindowsScoreEachTargetOnce) {
  EXPECT_EQ(evaluate(1, {.context_length = 8, .stride = 3}).targets, tokens() - 1);
  const LossReport some = evaluate(2, {.context_length = 8, .max_sequences = 5});
  EXPECT_EQ(some.sequences, 5);
  EXPECT_EQ(some.targets, 40);
}

// With the mask, a stream has the loss of its separate documents, each but the first after the end token before it.
TEST_F(LossEvaluation, MaskedDocumentsSeeNothingOfEachOther) {
  const std::vector<Ids> documents = {{5, 6, 7, 2}, {8, 9, 2}, {5, 5, 5, 10, 11, 2}, {6, 2}};
  const auto evaluate_stream = [&](const std::vector<Ids>& stream, bool mask, int64_t step_tokens) {
    const Scratch here;
    DatasetBuilder{.directory = here.path(), .vocabulary = 12}.stream(stream, DataSplit::Valid);
    Context context;
    Mesh mesh = Mesh::single();
    const auto dataset = std::make_shared<const Dataset>(Dataset::open(here.path(), DataSplit::Valid));
    const auto model = make_model(context, mesh, spec_of(*dataset));
    model->allocate(Precision::Fp32, Purpose::Inference);
    model->parameters().initialise(4);
    return evaluate_loss(*model, dataset, {.context_length = 8, .step_tokens = step_tokens, .document_mask = mask}, 0);
  };
  double apart = 0;
  int64_t targets = 0;
  for (size_t i = 0; i < documents.size(); ++i) {
    Ids alone = documents[i];
    if (i > 0) alone.insert(alone.begin(), 2);
    const LossReport report = evaluate_stream({alone}, false, 8);
    apart += report.nll, targets += report.targets;
  }
  for (const int64_t step_tokens : {8, 64}) {
    const LossReport masked = evaluate_stream(documents, true, step_tokens);
    EXPECT_EQ(masked.targets, targets);
    // The 14 inputs are windows of 8 and 6, whose border is inside the third document.
    const LossReport begin = evaluate_stream({{2, 5, 5}}, false, 8),
                     rest = evaluate_stream({{5, 5, 10, 11, 2}}, false, 8);
    const LossReport third = evaluate_stream({{2, 5, 5, 5, 10, 11, 2}}, false, 8);
    EXPECT_NEAR(masked.nll, apart - third.nll + begin.nll + rest.nll, 1e-5 * apart);
    EXPECT_GT(std::abs(evaluate_stream(documents, false, step_tokens).nll - masked.nll), 1e-4 * apart);
  }
}

TEST_F(LossEvaluation, SmoothingIsInTheLossAlone) {
  const LossReport plain = evaluate(1, {.context_length = 8}), smooth = evaluate(1, {.context_length = 8}, 0.2);
  EXPECT_EQ(plain.loss, plain.nll);
  EXPECT_EQ(smooth.nll, plain.nll);
  EXPECT_NE(smooth.loss, plain.loss);
  EXPECT_EQ(LossReport{}.mean_nll(), 0);  // no division by zero if nothing is scored
}

}  // namespace
}  // namespace weft
