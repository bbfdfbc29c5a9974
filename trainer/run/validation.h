// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "checkpoint/run_state.h"
#include "evaluate/bleu_evaluation.h"
#include "evaluate/loss_evaluation.h"
#include "trainer/step/training_setup.h"

namespace weft {

// What one evaluation of the validation split found.
struct ValidationReport {
  LossReport loss;
  // Where evaluation.metric is bleu; none of a model whose loss is not finite, which has nothing to translate with.
  std::optional<BleuReport> bleu;
};

// A run's model on its validation split: the loss and, where evaluation.metric is bleu, translations of it.
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
  std::unique_ptr<const BleuEvaluation> bleu_;  // where evaluation.metric is bleu
};

// Counts the evaluation of state.step: whether it is the best so far, which the state then holds. The lower loss is
// better; by BLEU the higher one, and of equal ones (0, as long as a model writes nothing right) that with the lower
// loss. Without a BLEU to go by so far, the first is the best.
bool count_evaluation(const ValidationReport& report, ValidationMetric metric, RunState& state);

}  // namespace weft
