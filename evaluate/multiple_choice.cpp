// SPDX-License-Identifier: Apache-2.0
#include "evaluate/multiple_choice.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/progress.h"
#include "evaluate/likelihood.h"

namespace weft {
namespace {

struct Scored {
  double log_probability = 0;
  double tokens = 0, bytes = 0;
};

Choices choose(const std::vector<Scored>& endings) {
  const auto best = [&](auto score) {
    return static_cast<size_t>(std::ranges::max_element(endings, {}, score) - endings.begin());
  };
  return {.by_sum = best([](const Scored& s) { return s.log_probability; }),
          .by_token = best([](const Scored& s) { return s.log_probability / s.tokens; }),
          .by_byte = best([](const Scored& s) { return s.log_probability / s.bytes; })};
}

// A space stands before an ending, and belongs to it.
std::vector<int32_t> encode_ending(const std::string& ending, const Tokenizer& tokenizer) {
  return tokenizer.encode(" " + ending);
}

std::vector<Continuation> continuations_of(const TextGenerator& generator, std::span<const Question> questions) {
  std::vector<Continuation> all;
  for (const Question& question : questions) {
    const std::vector<int32_t> context = generator.prompt(question.context);
    for (const std::string& ending : question.endings) {
      all.push_back({context, encode_ending(ending, generator.target_tokenizer)});
    }
  }
  return all;
}

void count_choice(const Question& question, const std::vector<Scored>& endings, ChoiceReport& report) {
  const Choices choices = report.chosen.emplace_back(choose(endings));
  report.right_by_sum += choices.by_sum == question.right;
  report.right_by_token += choices.by_token == question.right;
  report.right_by_byte += choices.by_byte == question.right;
}

void count_answers(const TextGenerator& generator, std::span<const Question> questions, ChoiceReport& report) {
  const std::vector<Continuation> continuations = continuations_of(generator, questions);
  const std::vector<Likelihood> scores = likelihoods(generator.model, continuations);
  size_t next = 0;
  for (const Question& question : questions) {
    report.log_probability += scores[next + question.right].log_probability;
    if (report.form == QuestionForm::LastWord) {
      report.right_by_sum += scores[next++].greedy;
      continue;
    }
    std::vector<Scored> endings;
    for (const std::string& ending : question.endings) {
      endings.push_back({scores[next].log_probability, static_cast<double>(continuations[next].tokens.size()),
                         static_cast<double>(ending.size())});
      ++next;
    }
    count_choice(question, endings, report);
  }
}

void check_questions(const QuestionSet& set, const Tokenizer& tokenizer, int64_t positions) {
  for (size_t i = 0; i < set.questions.size(); ++i) {
    for (const std::string& ending : set.questions[i].endings) {
      const auto tokens = std::ssize(encode_ending(ending, tokenizer));
      require<DataError>(tokens <= positions, "question {} of {}: an ending has {} tokens, the model {} positions",
                         i + 1, set.name, tokens, positions);
    }
  }
}

}  // namespace

std::vector<QuestionSet> read_tasks(const JobConfig& job, const Tokenizer& tokenizer) {
  std::vector<QuestionSet> tasks;
  for (const std::string& path : job.evaluation.tasks) {
    QuestionSet task = read_questions(path, job.evaluation.max_questions);
    check_questions(task, tokenizer, job.model.max_length);
    require<DataError>(std::ranges::find(tasks, task.name, &QuestionSet::name) == tasks.end(),
                       "evaluation.tasks: two files are named {}, and the logs tell tasks apart by their names",
                       task.name);
    tasks.push_back(std::move(task));
  }
  return tasks;
}

ChoiceReport answer_questions(const TextGenerator& generator, const QuestionSet& set,
                              const std::function<bool()>& give_up) {
  constexpr size_t kAtOnce = 64;
  ChoiceReport report{.form = set.form, .questions = std::ssize(set.questions)};
  const std::span<const Question> all = set.questions;
  for (size_t at = 0; at < all.size(); at += kAtOnce) {
    report.given_up = give_up && give_up();
    if (report.given_up) return report;
    count_answers(generator, all.subspan(at, std::min(kAtOnce, all.size() - at)), report);
  }
  return report;
}

double ChoiceReport::word_perplexity() const { return std::exp(-log_probability / static_cast<double>(questions)); }

std::string ChoiceReport::format() const {
  const auto figure = [&](int64_t right) {
    const double share = accuracy(right);
    return fmt::format("{:.4f} +- {:.4f}", share, std::sqrt(share * (1 - share) / static_cast<double>(questions)));
  };
  if (form == QuestionForm::LastWord) {
    return fmt::format("accuracy {} (last word), perplexity {:.2f} a word, {}", figure(right_by_sum), word_perplexity(),
                       counted(questions, "text"));
  }
  return fmt::format("accuracy {} (likeliest ending), {} (likeliest per token), {} (likeliest per byte), {}",
                     figure(right_by_sum), figure(right_by_token), figure(right_by_byte),
                     counted(questions, "question"));
}

void to_json(nlohmann::ordered_json& json, const ChoiceReport& report) {
  json = {{"questions", report.questions}, {"accuracy", report.accuracy(report.right_by_sum)}};
  if (report.form == QuestionForm::LastWord) {
    json["perplexity"] = report.word_perplexity();
    return;
  }
  json["accuracy_per_token"] = report.accuracy(report.right_by_token);
  json["accuracy_per_byte"] = report.accuracy(report.right_by_byte);
}

}  // namespace weft
