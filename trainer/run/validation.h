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

// What one evaluation of the validation split found.
struct ValidationReport {
  LossReport loss;
  // If a metric of translations decides; absent if the loss is not finite, since such a model cannot translate.
  std::optional<TranslationReport> translation;
};

// A run's model on its validation split: the loss and, if a metric of translations decides, translations of it.
class Validation {
 public:
  // The job must outlive it, and so must the setup.
  Validation(const JobConfig& job, std::shared_ptr<const Dataset> valid, TrainingSetup& setup);

  // Collective over the model's mesh, the same on every rank. `give_up` is asked now and then, on all ranks at the same
  // points, and must say the same to all; once it says yes there is no report.
  std::optional<ValidationReport> measure(const std::function<bool()>& give_up);

 private:
  const JobConfig& job_;
  std::shared_ptr<const Dataset> valid_;
  TrainingSetup& setup_;
  std::unique_ptr<const TranslationEvaluation> translation_;  // absent if the loss decides
};

// Counts the evaluation of state.step: whether it is the best so far, which the state then holds. The lower loss is
// better; by a metric of translations the score that the table calls better, and of equal ones (BLEU 0, as long as a
// model writes nothing right) that with the lower loss. Without such a score so far, the first is the best.
bool count_evaluation(const ValidationReport& report, ValidationMetric metric, RunState& state);

}  // namespace weft
