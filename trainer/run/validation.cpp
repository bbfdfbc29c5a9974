// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/validation.h"

#include <cmath>

#include "job/dataset_checks.h"
#include "trainer/step/agreed_algorithms.h"

namespace weft {

Validation::Validation(const JobConfig& job, std::shared_ptr<const Dataset> valid, TrainingSetup& setup)
    : job_(job), valid_(std::move(valid)), setup_(setup) {
  if (job.evaluation.metric == ValidationMetric::Bleu) bleu_ = std::make_unique<BleuEvaluation>(job, valid_);
}

// Repeats the evaluation if ranks have measured algorithms meanwhile, so that all of it is computed with the same ones.
std::optional<ValidationReport> Validation::measure(const std::function<bool()>& give_up) {
  const EvaluationOptions options = validation_options(job_);
  ValidationReport report;
  do {
    report.loss = evaluate_loss(setup_.model(), valid_, options, job_.train.label_smoothing, give_up);
    if (report.loss.given_up) return {};
    report.bleu.reset();
    const bool translates = bleu_ && std::isfinite(report.loss.nll);
    if (translates) report.bleu = bleu_->measure(setup_.model(), give_up);
    if (translates && report.bleu->given_up) return {};
  } while (settle_algorithms(setup_.context(), setup_.mesh().world()));
  return report;
}

namespace {

bool is_better(const ValidationReport& report, ValidationMetric metric, const RunState& state) {
  const bool lower_loss = report.loss.mean_nll() < state.best_loss;
  if (metric == ValidationMetric::Loss) return lower_loss;
  if (!report.bleu) return false;
  if (!state.best_bleu) return true;
  return report.bleu->score > *state.best_bleu || (report.bleu->score == *state.best_bleu && lower_loss);
}

}  // namespace

bool count_evaluation(const ValidationReport& report, ValidationMetric metric, RunState& state) {
  const bool better = is_better(report, metric, state);
  state.evaluations_since_best = better ? 0 : state.evaluations_since_best + 1;
  if (!better) return false;
  state.best_step = state.step;
  state.best_loss = report.loss.mean_nll();
  state.best_bleu.reset();
  if (metric == ValidationMetric::Bleu) state.best_bleu = report.bleu->score;
  return true;
}

}  // namespace weft
