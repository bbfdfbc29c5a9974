// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/mpi.h"
#include "base/output.h"
#include "evaluate/multiple_choice.h"
#include "launch/choice_option.h"
#include "launch/commands.h"
#include "parallel/session.h"

namespace weft {
namespace {

struct ChooseArguments {
  std::string questions;
  std::string checkpoint;
  bool best = false;
  bool json = false;
  int tp = 1;
  DeviceChoice device = DeviceChoice::Auto;
};

ExitCode choose(const ChooseArguments& a) {
  const std::vector<ChoiceQuestion> questions = read_choice_questions(a.questions);
  std::optional<PhaseBudgets> budgets;  // one process alone can be seen to hang
  if (find_launcher().present) budgets = PhaseBudgets{};
  Session session(a.tp, budgets, a.device);
  return session.run([&] {
    const LoadedModel loaded = load_model(session.context(), session.mesh(), a.checkpoint, a.best);
    session.set_budgets(loaded.job.timeouts);
    if (loaded.job.is_translation()) {
      throw ConfigError(fmt::format("{} holds a translation model", loaded.path.string()),
                        "multiple choice is for language models");
    }
    const ChoiceReport report = answer_choices(loaded, questions);
    if (!session.is_rank0()) return ExitCode::Done;
    print((a.json ? nlohmann::ordered_json(report).dump() : report.format()) + "\n");
    return ExitCode::Done;
  });
}

}  // namespace

void add_choose_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "choose", "How often a language model finds the right ending likeliest: multiple choice, as HellaSwag.");
  auto a = std::make_shared<ChooseArguments>();
  command->footer(
      "  weft choose hellaswag_val.jsonl --checkpoint runs/NAME\n"
      "A question is a line {\"ctx\": \"...\", \"endings\": [\"...\", \"...\"], \"label\": 0}. Under MPI the ranks "
      "share "
      "the questions.");
  command->add_option("questions", a->questions, "The questions, a JSON object a line (may be gzipped)")->required();
  command->add_option("--checkpoint", a->checkpoint, "A run directory (its latest checkpoint) or a checkpoint")
      ->required();
  add_device_option(*command, a->device);
  command->add_flag("--best", a->best, "Of a run directory, the checkpoint of the best evaluation");
  command->add_option("--tp", a->tp, "Under MPI: ranks that share the model; the others divide the questions")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--json", a->json, "One JSON object on standard output");
  command->callback([=, &action] { action = [=] { return choose(*a); }; });
}

}  // namespace weft
