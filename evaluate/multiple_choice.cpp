// SPDX-License-Identifier: Apache-2.0
#include "evaluate/multiple_choice.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "base/progress.h"
#include "data/text/text_input.h"
#include "evaluate/likelihood.h"
#include "generate/text_generator.h"

namespace weft {
namespace {

// HellaSwag's own files store the label as a number; some copies store it as a string.
size_t label_of(const nlohmann::json& label) {
  if (label.is_number_unsigned()) return label.get<size_t>();
  const std::string text = label.get<std::string>();
  if (text.size() != 1 || text[0] < '0' || text[0] > '9') throw std::invalid_argument("label");
  return static_cast<size_t>(text[0] - '0');
}

ChoiceQuestion parse_question(std::string_view line, const std::string& where) {
  try {
    const nlohmann::json json = parse_json(line, where);
    ChoiceQuestion question{.context = json.at("ctx").get<std::string>(),
                            .endings = json.at("endings").get<std::vector<std::string>>(),
                            .right = label_of(json.at("label"))};
    const bool has_empty = std::ranges::any_of(question.endings, &std::string::empty);
    if (!question.context.empty() && !has_empty && question.right < question.endings.size()) return question;
  } catch (const std::exception&) {
  }
  throw DataError(
      fmt::format("{}: not a question with endings", where),
      R"(expected {"ctx": "...", "endings": ["...", ...], "label": 0}, no text empty, the label one of the )"
      "endings, counted from 0");
}

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

}  // namespace

std::vector<ChoiceQuestion> read_choice_questions(const fs::path& path) {
  TextInput input(path);
  std::vector<ChoiceQuestion> questions;
  for (std::string_view line; input.next_line(line);) {
    questions.push_back(parse_question(line, fmt::format("{}:{}", path.string(), input.line())));
  }
  require<DataError>(!questions.empty(), "{}: no question in it", path.string());
  return questions;
}

ChoiceReport answer_choices(const LoadedModel& loaded, const std::vector<ChoiceQuestion>& questions) {
  const TextGenerator generator = text_generator(loaded);
  std::vector<Continuation> continuations;
  for (const ChoiceQuestion& question : questions) {
    const std::vector<int32_t> context = generator.prompt(question.context);
    for (const std::string& ending : question.endings) {
      continuations.push_back({context, loaded.target_tokenizer->encode(" " + ending)});
    }
  }
  const std::vector<Likelihood> scores = likelihoods(*loaded.model, continuations);
  ChoiceReport report{.questions = static_cast<int64_t>(questions.size())};
  size_t next = 0;
  for (const ChoiceQuestion& question : questions) {
    std::vector<Scored> endings;
    for (const std::string& ending : question.endings) {
      endings.push_back({scores[next].log_probability, static_cast<double>(continuations[next].tokens.size()),
                         static_cast<double>(ending.size())});
      ++next;
    }
    const Choices choices = report.chosen.emplace_back(choose(endings));
    report.right_by_sum += choices.by_sum == question.right;
    report.right_by_token += choices.by_token == question.right;
    report.right_by_byte += choices.by_byte == question.right;
  }
  return report;
}

std::string ChoiceReport::format() const {
  const auto figure = [&](int64_t right) {
    const double share = accuracy(right);
    return fmt::format("{:.4f} +- {:.4f}", share, std::sqrt(share * (1 - share) / static_cast<double>(questions)));
  };
  return fmt::format("accuracy {} (likeliest ending), {} (likeliest per token), {} (likeliest per byte), {}",
                     figure(right_by_sum), figure(right_by_token), figure(right_by_byte),
                     counted(questions, "question"));
}

void to_json(nlohmann::ordered_json& json, const ChoiceReport& report) {
  json = {{"questions", report.questions},
          {"accuracy", report.accuracy(report.right_by_sum)},
          {"accuracy_per_token", report.accuracy(report.right_by_token)},
          {"accuracy_per_byte", report.accuracy(report.right_by_byte)}};
}

}  // namespace weft
