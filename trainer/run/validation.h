// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "checkpoint/run_state.h"
#include "evaluate/loss_evaluation.h"
#include "evaluate/translation_evaluation.h"
#include "trainer/step/training_setup.h"

namespace weft {

// The result of one evaluation on the validation split.
struct ValidationReport {
  LossReport loss;
  // Present if a metric of translations decides and the loss is finite: a diverged model is not asked for translations.
  std::optional<TranslationReport> translation;
};

// Measures a run's model on its validation split: the loss and, if a metric of translations decides, that metric.
class Validation {
 public:
  // The job must outlive it, and so must the setup.
  Validation(const JobConfig& job, const TrainingData& data, TrainingSetup& setup);

  // Collective over the model's mesh, the same on every rank. `give_up` is asked now and then, on all ranks at the same
  // points, and must return the same to all; once it returns true the report is left out.
  std::optional<ValidationReport> measure(const std::function<bool()>& give_up);

 private:
  const JobConfig& job_;
  std::shared_ptr<const Dataset> valid_;
  TrainingSetup& setup_;
  std::unique_ptr<const TranslationEvaluation> translation_;  // null if the loss decides
};

// Counts the evaluation of state.step in the state and returns whether it is the best so far. The lower loss is better;
// by a metric of translations the score that the table calls better, and of equal scores (BLEU 0 until a model writes
// something right) the one with the lower loss. The first such score is better than none.
bool count_evaluation(const ValidationReport& report, ValidationMetric metric, RunState& state);

}  // namespace weft
