// SPDX-License-Identifier: Apache-2.0
#include "evaluate/questions.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "data/text/text_input.h"

namespace weft {
namespace {

using JsonValue = nlohmann::json;

// A label is a number; some copies of HellaSwag and PIQA store it as a string.
size_t label_of(const JsonValue& label) {
  if (label.is_number_unsigned()) return label.get<size_t>();
  const std::string text = label.get<std::string>();
  if (text.size() != 1 || text[0] < '0' || text[0] > '9') throw std::invalid_argument("label");
  return static_cast<size_t>(text[0] - '0');
}

std::string asked(const std::string& question) { return "Question: " + question + "\nAnswer:"; }

Question hellaswag(const JsonValue& json) {
  return {.context = json.at("ctx").get<std::string>(),
          .endings = json.at("endings").get<std::vector<std::string>>(),
          .right = label_of(json.at("label"))};
}

// The label of the right choice is its name: A, B, ... or 1, 2, ...
Question arc(const JsonValue& json) {
  const JsonValue& asks = json.at("question");
  const JsonValue& choices = asks.is_object() ? asks.at("choices") : json.at("choices");
  Question question{.context = asked((asks.is_object() ? asks.at("stem") : asks).get<std::string>())};
  std::vector<std::string> labels;
  if (choices.is_object()) {
    question.endings = choices.at("text").get<std::vector<std::string>>();
    labels = choices.at("label").get<std::vector<std::string>>();
  } else {
    for (const JsonValue& choice : choices) {
      question.endings.push_back(choice.at("text").get<std::string>());
      labels.push_back(choice.at("label").get<std::string>());
    }
  }
  const auto found = std::ranges::find(labels, json.at("answerKey").get<std::string>());
  if (found == labels.end() || labels.size() != question.endings.size()) throw std::invalid_argument("answerKey");
  question.right = static_cast<size_t>(found - labels.begin());
  return question;
}

Question piqa(const JsonValue& json) {
  return {.context = asked(json.at("goal").get<std::string>()),
          .endings = {json.at("sol1").get<std::string>(), json.at("sol2").get<std::string>()},
          .right = label_of(json.at("label"))};
}

Question lambada(const JsonValue& json) {
  const std::string text = json.at("text").get<std::string>();
  const size_t blank = text.rfind(' ');
  if (blank == std::string::npos) throw std::invalid_argument("text");
  return {.context = text.substr(0, blank), .endings = {text.substr(blank + 1)}};
}

struct Form {
  const char* member;  // that no other form has
  QuestionForm form;
  Question (*read)(const JsonValue& json);
};
constexpr std::array kForms = {Form{"ctx", QuestionForm::Endings, hellaswag},
                               Form{"question", QuestionForm::Endings, arc}, Form{"goal", QuestionForm::Endings, piqa},
                               Form{"text", QuestionForm::LastWord, lambada}};

bool is_whole(const Question& question, QuestionForm form) {
  const bool has_empty = std::ranges::any_of(question.endings, &std::string::empty);
  const bool has_choice = form == QuestionForm::LastWord || question.endings.size() > 1;
  return !question.context.empty() && !has_empty && has_choice && question.right < question.endings.size();
}

std::pair<QuestionForm, Question> parse_question(std::string_view line, const std::string& where) {
  try {
    const JsonValue json = parse_json(line, where);
    for (const Form& form : kForms) {
      if (!json.contains(form.member)) continue;
      Question question = form.read(json);
      if (is_whole(question, form.form)) return {form.form, std::move(question)};
    }
  } catch (const std::exception&) {
  }
  throw DataError(
      fmt::format("{}: not a question with endings", where),
      R"(expected {"ctx": "...", "endings": ["...", ...], "label": 0}, no text empty, the label one of the )"
      R"(endings, counted from 0; or a line of ARC, PIQA or LAMBADA (weft choose --help))");
}

// "hellaswag_val" of "corpora/hellaswag_val.jsonl.gz".
std::string name_of(const fs::path& path) {
  fs::path name = path.filename();
  if (name.extension() == ".gz" || name.extension() == ".zst") name = name.stem();
  return name.stem();
}

}  // namespace

QuestionSet read_questions(const fs::path& path, int64_t most) {
  TextInput input(path);
  QuestionSet set{.name = name_of(path)};
  for (std::string_view line; (most == 0 || std::ssize(set.questions) < most) && input.next_line(line);) {
    const std::string where = fmt::format("{}:{}", path.string(), input.line());
    auto [form, question] = parse_question(line, where);
    require<DataError>(set.questions.empty() || form == set.form,
                       "{}: endings to choose from and texts whose last word is asked for are in one file", where);
    set.form = form;
    set.questions.push_back(std::move(question));
  }
  require<DataError>(!set.questions.empty(), "{}: no question in it", path.string());
  return set;
}

}  // namespace weft
