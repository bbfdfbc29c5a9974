// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/output.h"
#include "evaluate/evaluation.h"
#include "job/dataset_checks.h"
#include "launch/command_line/choice_option.h"
#include "launch/commands.h"
#include "launch/job_options.h"
#include "launch/metric_options.h"
#include "launch/model_options.h"
#include "launch/search_options.h"

namespace weft {
namespace {

struct EvaluateArguments {
  JobArguments job;
  EvaluateOptions options;
  SearchArguments search;
  MetricArguments metrics;
  std::string translations;
  ModelArguments model;
};

EvaluateOptions options_of(const EvaluateArguments& a) {
  EvaluateOptions options = a.options;
  options.checkpoint = a.model.checkpoint, options.best = a.model.best, options.compute = a.model.compute;
  options.overrides = a.job.overrides;
  if (a.search.given() || a.metrics.given() || !a.translations.empty()) {
    options.translation = TranslationOptions{
        .search = a.search.config(), .metrics = every_metric(a.metrics.settings()), .output = a.translations};
  }
  return options;
}

ExitCode evaluate(const EvaluateArguments& a) {
  EvaluateOptions options = options_of(a);
  ModelArguments model = a.model;
  PhaseBudgets budgets;
  if (!a.job.path.empty()) {
    const JobConfig job = load_job(a.job.path, a.job.overrides);
    if (options.checkpoint.empty()) options.checkpoint = job.run_directory();
    budgets = job.timeouts;
    if (model.device == DeviceChoice::Auto) model.device = job.device;
    override_dataset(job, options.overrides);
  }
  if (options.checkpoint.empty()) throw ConfigError("nothing to evaluate", "give a job, or --checkpoint DIR");
  Session session = model.open(budgets);
  return session.run([&] {
    const EvaluationReport report = evaluate_split(session, options);
    if (!session.is_rank0()) return ExitCode::Done;
    print(a.model.json ? nlohmann::ordered_json(report).dump() + "\n" : report.format());
    return ExitCode::Done;
  });
}

}  // namespace

void add_evaluate_command(Command& app, Action& action) {
  Command command = app.add_command(
      "evaluate", "Perplexity of a split; for translation models also BLEU, chrF and the other metrics.",
      Workers::Ranks);
  auto a = std::make_shared<EvaluateArguments>();
  command.footer(
      "  weft evaluate job.yaml --split valid\n"
      "  weft evaluate --checkpoint runs/NAME --best --beam 4 --bleu lowercase=true --json\n\n" +
      a->search.help() + "\n" + metrics_help());
  a->job.add_to(command);
  command.option("job").required(false);
  a->model.add_to(command, "One JSON object on standard output");
  command.option("--checkpoint").required(false);
  a->model.add_weights_to(command);
  a->model.add_tp_to(command, "split");
  add_choice_of<DataSplit>(command, "--split", a->options.split,
                           "train, valid or test; default: test, or valid if there is no test", "SPLIT");
  command
      .add_option("--stride", a->options.perplexity.stride,
                  "Language models: tokens from one window to the next; 0: the context length")
      .not_negative();
  command
      .add_option("--max-sequences", a->options.perplexity.max_sequences,
                  "Evaluate only the first N windows or pairs; 0: all")
      .not_negative();
  a->search.add_to(command);
  a->metrics.add_to(command);
  command.add_option("--translations", a->translations, "File to write the translations to").type_name("FILE");
  command.on_parsed([=, &action] { action = [=] { return evaluate(*a); }; });
}

}  // namespace weft
