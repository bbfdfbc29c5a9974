// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/validation.h"

#include <fmt/ranges.h>

#include <cmath>

#include "base/config/writer.h"
#include "base/hash.h"
#include "job/dataset_checks.h"
#include "trainer/step/agreed_algorithms.h"

namespace weft {

Validation::Validation(const JobConfig& job, const TrainingData& data, TrainingSetup& setup)
    : job_(job),
      valid_(data.valid),
      setup_(setup),
      source_tokenizer_(data.source_tokenizer),
      target_tokenizer_(data.target_tokenizer),
      tasks_(read_tasks(job, *target_tokenizer_)) {
  if (!job.evaluation.translates()) return;
  translation_ = std::make_unique<TranslationEvaluation>(job, data.valid, data.source_tokenizer, data.target_tokenizer);
}

// Repeats the evaluation if ranks have measured algorithms during it, so that all of it uses the same algorithms.
std::optional<ValidationReport> Validation::measure(const std::function<bool()>& give_up) {
  setup_.step().make_room();
  setup_.parameters().finish_weight_gather();  // a replica may have nothing to evaluate
  const EvaluationOptions options = validation_options(job_);
  ValidationReport report;
  do {
    report.loss = evaluate_loss(setup_.model(), valid_, options, job_.train.label_smoothing, give_up);
    if (report.loss.given_up) return {};
    report.translation.reset();
    const bool translates = translation_ && std::isfinite(report.loss.nll);
    if (translates) report.translation = translation_->measure(setup_.model(), give_up);
    if (translates && report.translation->given_up) return {};
    if (std::isfinite(report.loss.nll) && !answer(give_up, report)) return {};
  } while (settle_algorithms(setup_.context(), setup_.mesh().world()));
  return report;
}

bool Validation::answer(const std::function<bool()>& give_up, ValidationReport& report) {
  report.tasks.clear();
  const TextGenerator generator{setup_.model(), job_, *source_tokenizer_, *target_tokenizer_};
  for (const QuestionSet& task : tasks_) {
    report.tasks.push_back({.name = task.name, .answers = answer_questions(generator, task, give_up)});
    if (report.tasks.back().answers.given_up) return false;
  }
  return true;
}

namespace {

bool is_better(const ValidationReport& report, ValidationMetric metric, const RunState& state) {
  const bool lower_loss = report.loss.mean_nll() < state.best_loss;
  const MetricEntry* of_translations = translation_metric(metric);
  if (!of_translations) return lower_loss;
  if (!report.translation) return false;
  if (!state.best_score) return true;
  const double score = report.translation->score, best = *state.best_score;
  if (score == best) return lower_loss;
  return (score < best) == (of_translations->better == Better::Lower);
}

}  // namespace

std::map<std::string, std::string> evaluation_identity(const JobConfig& job, const Dataset* valid) {
  if (!valid) return {};
  std::vector<std::string> content;
  for (const DatasetPart& part : valid->parts()) content.push_back(hash_hex(part.content));
  const EvaluationOptions options = validation_options(job);
  std::map<std::string, std::string> identity = {{"validation text", fmt::format("{}", fmt::join(content, " "))},
                                                 {"evaluation.max_sequences", std::to_string(options.max_sequences)},
                                                 {"evaluation.metric", std::string(enum_name(job.evaluation.metric))}};
  if (has_two_sides(valid->header().kind)) {
    identity["model.max_length"] = std::to_string(options.max_length);
  } else {
    identity["batch.context_length"] = std::to_string(options.context_length);
    identity["data.document_mask"] = options.document_mask ? "true" : "false";
  }
  if (!job.evaluation.translates()) return identity;
  ValidationTranslation translation = job.evaluation.translation;
  identity["evaluation.translation"] = value_on_one_line(encode_config(translation));
  return identity;
}

bool count_evaluation(const ValidationReport& report, ValidationMetric metric, RunState& state) {
  const bool better = is_better(report, metric, state);
  state.evaluations_since_best = better ? 0 : state.evaluations_since_best + 1;
  if (!better) return false;
  state.best_step = state.step;
  state.best_loss = report.loss.mean_nll();
  state.best_score.reset();
  if (report.translation) state.best_score = report.translation->score;
  return true;
}

}  // namespace weft
