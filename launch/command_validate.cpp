#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/config/writer.h"
#include "base/log.h"
#include "bench/step_plan.h"
#include "data/batch_plan.h"
#include "data/tokenizer/tokenizer.h"
#include "evaluate/text_generator.h"
#include "job/dataset_checks.h"
#include "job/initial_model.h"
#include "launch/commands.h"
#include "parallel/session.h"

namespace weft {
namespace {

// What else can be checked before any rank starts: the dataset if it is prepared, the run directory.
void check_surroundings(const JobConfig& job, const JobArguments& arguments, int ranks) {
  const MeshLayout layout = layout_for(ranks, static_cast<int>(job.parallel.tp));
  const fs::path dataset = job.data.directory;
  if (!is_prepared(dataset)) {
    log_info("dataset: {} is not prepared yet (weft prepare)", dataset.string());
  } else {
    const Dataset train = Dataset::open(dataset, "train");
    check_prepared_as(job, arguments.path, arguments.overrides);
    check_job_against(job, train.header());
    check_answers(job, train);
    const auto splits = Dataset::splits(dataset);
    if (std::ranges::find(splits, "valid") != splits.end()) {
      check_validation(job, Dataset::open(dataset, "valid"), true);
    }
    if (const fs::path from = job.train.init_from; !from.empty() && fs::exists(from)) {
      check_tokenizers(Checkpoint::open(initial_checkpoint(from)), train.header(), dataset);
    }
    check_prompts(job, *train.load_source_tokenizer(), *train.load_target_tokenizer());
    const auto plan = make_batch_plan(job.batch, train, static_cast<uint64_t>(job.seed));
    log_info("{}", describe_plan(*plan, layout.dp, job.batch.micro_batch_tokens));
  }
  fs::path existing = fs::absolute(job.run_directory());
  while (!fs::exists(existing)) existing = existing.parent_path();
  // Permissions do not tell all (root, read-only mounts, special file systems): make something there and remove it.
  const fs::path trial = existing / fmt::format(".weft-validate-{}", ::getpid());
  std::error_code error;
  fs::create_directory(trial, error);
  if (error) {
    throw DataError(fmt::format("run_dir: nothing can be made in {}: {}", existing.string(), error.message()),
                    "set run_dir to another directory");
  }
  fs::remove(trial, error);
  log_info("run directory {}: {:.1f} GiB free", job.run_directory().string(),
           static_cast<double>(free_bytes(existing)) / (1 << 30));
}

void print_memory(const JobConfig& job, int ranks) {
  if (!can_be_planned(job)) {
    log_info("memory of a rank: not known before weft prepare, since the text decides how large the vocabulary is");
    return;
  }
  const StepPlan plan =
      plan_step(job, layout_for(ranks, static_cast<int>(job.parallel.tp)), {.cuda = job.device == DeviceChoice::Cuda});
  log_info("memory of a rank's tensors in the largest step: {:.1f} MiB (weft plan has the parts)",
           static_cast<double>(plan.peak_bytes) / (1 << 20));
}

}  // namespace

void add_validate_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("validate", "Check a job without starting it; prints the job with everything resolved.");
  command->footer(
      "Exit code 0: nothing wrong was found; 2: the job is wrong, every problem on a line of its own; 3: its data is.\n"
      "The keys of a job: weft keys [SECTION], docs/configuration.md.");
  auto arguments = std::make_shared<JobArguments>();
  auto ranks = std::make_shared<int>(1);
  arguments->add_to(*command);
  command->add_option("--ranks", *ranks, "Ranks that the job will be started with")->check(CLI::Range(1, 1 << 20));
  command->callback([=, &action] {
    action = [=] {
      const JobConfig job = load_job(arguments->path, arguments->overrides);
      std::printf("%s", to_yaml(job).c_str());
      check_surroundings(job, *arguments, *ranks);
      print_memory(job, *ranks);
      log_info("{}: nothing wrong found", arguments->path);
      return ExitCode::Done;
    };
  });
}

}  // namespace weft
