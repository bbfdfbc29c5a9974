// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "checkpoint/run_state.h"
#include "evaluate/loss_evaluation.h"
#include "evaluate/multiple_choice.h"
#include "evaluate/translation_evaluation.h"
#include "trainer/step/training_setup.h"

namespace weft {

// How a model has answered the questions of one of evaluation.tasks.
struct TaskReport {
  std::string name;
  ChoiceReport answers;
};

// The result of one evaluation on the validation split.
struct ValidationReport {
  LossReport loss;
  // Present if a metric of translations decides and the loss is finite: a diverged model does not translate.
  std::optional<TranslationReport> translation;
  std::vector<TaskReport> tasks;  // none if the loss is not finite
};

// Measures a run's model on its validation split: the loss and, if a metric of translations decides, that metric; and
// on the questions of evaluation.tasks.
class Validation {
 public:
  // The job and the setup must outlive it. Reads the questions: DataError if a file has none.
  Validation(const JobConfig& job, const TrainingData& data, TrainingSetup& setup);

  // Collective over the model's mesh; every rank returns the same. All ranks call `give_up` at the same points; it must
  // return the same on all of them, and once it returns true, measure() returns nullopt.
  std::optional<ValidationReport> measure(const std::function<bool()>& give_up);

 private:
  // Answers all questions; false if it gave up.
  bool answer(const std::function<bool()>& give_up, ValidationReport& report);

  const JobConfig& job_;
  std::shared_ptr<const Dataset> valid_;
  TrainingSetup& setup_;
  std::shared_ptr<const Tokenizer> source_tokenizer_, target_tokenizer_;
  std::unique_ptr<const TranslationEvaluation> translation_;  // null if the loss decides
  std::vector<QuestionSet> tasks_;
};

// What an evaluation measures, by name: the content of the validation split, what is taken of it, and how it is scored.
// Scores compare only if this is equal (RunState::evaluation). Empty without a validation split.
std::map<std::string, std::string> evaluation_identity(const JobConfig& job, const Dataset* valid);

// Counts the evaluation of state.step in the state and returns whether it is the best so far. The lower loss is better;
// with a metric of translations the better score in the sense of metric_table(), and of equal scores (BLEU is 0 until a
// model writes correct words) the one with the lower loss. A first score is better than no score.
bool count_evaluation(const ValidationReport& report, ValidationMetric metric, RunState& state);

}  // namespace weft
