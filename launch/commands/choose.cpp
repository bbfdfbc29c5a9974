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
  const QuestionSet questions = read_questions(a.questions);
  return a.model.run([&](Session& session, const LoadedModel& loaded) {
    require_task(loaded, Task::Gpt, "questions are for language models");
    const ChoiceReport report = answer_questions(text_generator(loaded), questions);
    if (!session.is_rank0()) return;
    print((a.model.json ? nlohmann::ordered_json(report).dump() : report.format()) + "\n");
  });
}

}  // namespace

void add_choose_command(Command& app, Action& action) {
  Command command = app.add_command(
      "choose", "Accuracy of a language model in questions with known answers (HellaSwag, ARC, PIQA, LAMBADA).",
      Workers::Ranks);
  auto a = std::make_shared<ChooseArguments>();
  command.footer(
      "  weft choose hellaswag_val.jsonl --checkpoint runs/NAME\n"
      "One question per line, as the benchmarks are published:\n"
      "  HellaSwag  {\"ctx\": \"...\", \"endings\": [\"...\", \"...\"], \"label\": 0}\n"
      "  ARC        {\"question\": \"...\", \"choices\": {\"text\": [\"...\"], \"label\": [\"A\"]}, \"answerKey\": "
      "\"A\"}\n"
      "  PIQA       {\"goal\": \"...\", \"sol1\": \"...\", \"sol2\": \"...\", \"label\": 1}\n"
      "  LAMBADA    {\"text\": \"...\"}, whose last word is asked for\n"
      "Under MPI the ranks divide the questions.");
  command.add_option("questions", a->questions, "Questions, one JSON object per line (may be gzipped)")
      .required()
      .type_name("FILE");
  a->model.add_to(command, "One JSON object on standard output");
  a->model.add_tp_to(command, "questions");
  command.on_parsed([=, &action] { action = [=] { return choose(*a); }; });
}

}  // namespace weft
