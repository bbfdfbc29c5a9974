// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "evaluate/questions.h"
#include "generate/text_generator.h"

namespace weft {

// The ending that a model finds likeliest, by three measures.
struct Choices {
  size_t by_sum = 0;    // by log-probability
  size_t by_token = 0;  // by log-probability per token
  size_t by_byte = 0;   // by log-probability per byte
};

// What a model has answered to a set of questions.
struct ChoiceReport {
  QuestionForm form = QuestionForm::Endings;
  int64_t questions = 0;
  // Questions whose right ending is chosen; of texts, those whose last word has the likeliest token at every place.
  int64_t right_by_sum = 0;
  int64_t right_by_token = 0, right_by_byte = 0;  // with endings to choose from
  double log_probability = 0;                     // of all right endings, in nats
  std::vector<Choices> chosen;                    // with endings to choose from, one for each question
  bool given_up = false;                          // give_up() returned true: there is no answer

  double accuracy(int64_t right) const { return static_cast<double>(right) / static_cast<double>(questions); }
  // exp of the mean negative log-probability of a last word.
  double word_perplexity() const;
  // "accuracy 0.2955 +- 0.0046 (likeliest ending), ..." or "accuracy 0.4312 +- 0.0069 (last word), perplexity 21.4,
  // ..." with standard errors of a mean
  std::string format() const;
};
void to_json(nlohmann::ordered_json& json, const ChoiceReport& report);

// The questions of a job's evaluation.tasks. DataError also if an ending has more tokens than the model has positions,
// or if two files have one name.
std::vector<QuestionSet> read_tasks(const JobConfig& job, const Tokenizer& tokenizer);

// Scores every ending after its context, with a space between them that belongs to the ending. DataError if an ending
// is longer than the model's positions. Collective; every rank returns the same report. All ranks call `give_up` before
// every 64 questions; it must return the same on all of them.
ChoiceReport answer_questions(const TextGenerator& generator, const QuestionSet& set,
                              const std::function<bool()>& give_up = {});

}  // namespace weft
