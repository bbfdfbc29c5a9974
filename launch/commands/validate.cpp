// SPDX-License-Identifier: Apache-2.0
#include "base/config/writer.h"
#include "base/log.h"
#include "base/output.h"
#include "checkpoint/reader.h"
#include "data/batches/mixture_report.h"
#include "data/prepare/prepare.h"
#include "data/tokenizer/tokenizer.h"
#include "evaluate/multiple_choice.h"
#include "generate/generations.h"
#include "job/dataset_checks.h"
#include "job/initial_model.h"
#include "launch/commands.h"
#include "launch/job_options.h"
#include "parallel/session.h"
#include "plan/step_plan.h"
#include "trainer/run/run_directory.h"
#include "trainer/step/training_setup.h"

namespace weft {
namespace {

// Checks the dataset if it is prepared, or else the files that it is made from; returns one line about it.
std::string check_dataset(const JobConfig& job, const JobArguments& arguments, int ranks) {
  const MeshLayout layout = layout_for(ranks, job.parallel.replica());
  const fs::path dataset = job.data.directory;
  if (!is_prepared(dataset)) {
    check_preparation(job.text());
    return fmt::format("dataset: {} is not prepared yet (run weft prepare); its text can be read", dataset.string());
  }
  const std::vector<DatasetSource> sources = job.data.sources();
  for (const DatasetSource& source : sources) {
    if (is_prepared(source.directory)) continue;
    return fmt::format("dataset: {} of data.mixture is not prepared yet (run weft prepare with its own job)",
                       source.directory.string());
  }
  const Dataset train = Dataset::open(sources, DataSplit::Train);
  check_prepared_as(job, arguments.path, arguments.overrides);
  check_job_against(job, train);
  check_answers(job, train);
  check_held_out(job, place_of_key("evaluation.metric", arguments.path, arguments.overrides));
  if (const fs::path from = job.train.init_from; !from.empty() && fs::exists(from)) {
    check_tokenizers(Checkpoint::open(initial_checkpoint(from)), train.header(), dataset);
  }
  const auto target = train.load_target_tokenizer();
  check_prompts(job, *train.load_source_tokenizer(), *target);
  read_tasks(job, *target);
  const auto plan = make_batch_plan(job.batch, train, static_cast<uint64_t>(job.seed));
  check_leaves(job, *plan, 0, layout.dp);
  return describe_plan(*plan, layout.dp, job.batch.most_tokens_at_once(), {}, Padding::None, job.batch.cut()) +
         describe_sources(source_reports(train, *plan), train.header().kind);
}

std::string memory_text(const JobConfig& job, int ranks) {
  if (!can_be_planned(job)) {
    return "memory of a rank: unknown before weft prepare, since the vocabulary size depends on the text";
  }
  const StepPlan plan =
      plan_step(job, layout_for(ranks, job.parallel.replica()), {.cuda = job.device == DeviceChoice::Cuda});
  return fmt::format("memory of a rank's tensors in the largest step: {:.1f} MiB (details: weft plan)",
                     static_cast<double>(plan.peak_bytes) / (1 << 20));
}

ExitCode validate_job(const JobArguments& arguments, int ranks, bool shown) {
  const JobConfig job = load_job(arguments.path, arguments.overrides);
  const std::string found[] = {check_dataset(job, arguments, ranks), check_run_directory(job.run_directory()),
                               memory_text(job, ranks)};
  log_info("{}: no problem found", arguments.path);
  for (const std::string& line : found) log_info("{}", line);
  if (shown) print(to_yaml(job));
  return ExitCode::Done;
}

}  // namespace

void add_validate_command(Command& app, Action& action) {
  Command command = app.add_command("validate", "Check a job and its files without starting it.", Workers::OneProcess);
  command.footer(
      "Exit code 0: no problem found; 2: problems in the job, one per line; 3: problems in its data.\n"
      "The keys of a job: weft keys [SECTION], docs/configuration.md.");
  auto arguments = std::make_shared<JobArguments>();
  auto ranks = std::make_shared<int>(1);
  auto print = std::make_shared<bool>(false);
  arguments->add_to(command);
  command.add_option("--ranks", *ranks, "Number of ranks to start the job with").between(1, 1 << 20);
  command.add_flag("--print", *print, "Print the resolved job, defaults included, on standard output");
  command.on_parsed([=, &action] { action = [=] { return validate_job(*arguments, *ranks, *print); }; });
}

}  // namespace weft
