// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "evaluate/bleu_evaluation.h"
#include "evaluate/loss_evaluation.h"
#include "job/run_state.h"
#include "trainer/step/training_setup.h"

namespace weft {

// The result of one evaluation on the validation split.
struct ValidationReport {
  LossReport loss;
  // Present if evaluation.metric is bleu and the loss is finite: a diverged model is not asked for translations.
  std::optional<BleuReport> bleu;
};

// Measures a run's model on its validation split: the loss and, if evaluation.metric is bleu, the BLEU of translations.
class Validation {
 public:
  // The job must outlive it, and so must the setup.
  Validation(const JobConfig& job, std::shared_ptr<const Dataset> valid, TrainingSetup& setup);

  // Collective over the model's mesh, the same on every rank. `give_up` is asked now and then, on all ranks at the same
  // points, and must return the same to all; once it returns true the report is left out.
  std::optional<ValidationReport> measure(const std::function<bool()>& give_up);

 private:
  const JobConfig& job_;
  std::shared_ptr<const Dataset> valid_;
  TrainingSetup& setup_;
  std::unique_ptr<const BleuEvaluation> bleu_;  // null unless evaluation.metric is bleu
};

// Counts the evaluation of state.step in the state and returns whether it is the best so far. The lower loss is better;
// by BLEU the higher score, and of equal scores (0 until a model writes something right) the one with the lower loss.
// The first BLEU is better than none.
bool count_evaluation(const ValidationReport& report, ValidationMetric metric, RunState& state);

}  // namespace weft
