// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/output.h"
#include "evaluate/multiple_choice.h"
#include "launch/commands.h"
#include "launch/model_options.h"

namespace weft {
namespace {

struct ChooseArguments {
  std::string questions;
  ModelArguments model;
};

ExitCode choose(const ChooseArguments& a) {
  const std::vector<ChoiceQuestion> questions = read_choice_questions(a.questions);
  return a.model.run([&](Session& session, const LoadedModel& loaded) {
    require_task(loaded, Task::Gpt, "multiple choice is for language models");
    const ChoiceReport report = answer_choices(loaded, questions);
    if (!session.is_rank0()) return;
    print((a.model.json ? nlohmann::ordered_json(report).dump() : report.format()) + "\n");
  });
}

}  // namespace

void add_choose_command(Command& app, Action& action) {
  Command command =
      app.add_command("choose", "Multiple-choice accuracy of a language model (HellaSwag format).", Workers::Ranks);
  auto a = std::make_shared<ChooseArguments>();
  command.footer(
      "  weft choose hellaswag_val.jsonl --checkpoint runs/NAME\n"
      "One question per line: {\"ctx\": \"...\", \"endings\": [\"...\", \"...\"], \"label\": 0}. Under MPI the ranks "
      "divide\n"
      "the questions.");
  command.add_option("questions", a->questions, "Questions, one JSON object per line (may be gzipped)")
      .required()
      .type_name("FILE");
  a->model.add_to(command, "One JSON object on standard output");
  a->model.add_tp_to(command, "questions");
  command.on_parsed([=, &action] { action = [=] { return choose(*a); }; });
}

}  // namespace weft
