// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <optional>

#include "base/log.h"
#include "base/process/signals.h"
#include "base/progress.h"
#include "job/dataset_checks.h"
#include "launch/build_info.h"
#include "launch/commands.h"
#include "launch/job_options.h"
#include "launch/revision.h"
#include "pages/live_report.h"
#include "trainer/trainer.h"

namespace weft {
namespace {

ResumeChoice resume_choice(const std::string& text) {
  if (text == "auto") return {};
  if (text == "must") return {.kind = ResumeChoice::Kind::Must};
  if (text == "never") return {.kind = ResumeChoice::Kind::Never};
  return {.kind = ResumeChoice::Kind::Path, .path = text};
}

std::string describe_best(const EvaluationConfig& evaluation, const TrainResult& result) {
  if (result.best_score) {
    return fmt::format("; best validation {} {:.2f}", evaluation.make_metric()->name(), *result.best_score);
  }
  if (std::isfinite(result.best_loss)) return fmt::format("; best validation loss {:.4f}", result.best_loss);
  return "";
}

ExitCode train(Session& session, const JobConfig& job, const std::vector<std::string>& overrides,
               const std::string& resume) {
  std::optional<LiveReport> report;
  if (job.train.report && session.mesh().world().rank() == 0) report.emplace(job.run_directory());
  log_info("{}: {} x {}, {}, {}", job.name, counted(session.world_size(), "rank"),
           counted(session.context().threads(), "thread"), enum_name(job.train.precision),
           describe_device(session.context().device(), job.device));
  Trainer trainer(session.context(), session.mesh(), job,
                  {.version = weft_version(), .revision = git_revision(), .overrides = overrides},
                  {.failed = [&session](const std::exception& error) { session.end(error); },
                   .logged =
                       [&report] {
                         if (report) report->update();
                       }});
  const ParameterRegistry& parameters = trainer.model().parameters();
  int64_t trained = 0;
  for (const auto& p : parameters.parameters()) trained += p->spec().frozen ? 0 : p->spec().shape.elements();
  const int64_t all = parameters.global_elements();
  log_info("{} parameters{}", all, trained == all ? "" : fmt::format(", {} of them trained", trained));
  const TrainResult result = trainer.run(resume_choice(resume));
  if (result.exit == ExitCode::Preempted) {
    log_info("{} at step {} of {}, {}; rerun the same command to resume",
             result.out_of_time ? "stopped before train.max_time was up" : "stopped by a signal", result.step,
             result.max_steps, result.last_checkpoint ? "saved in " + result.last_checkpoint->string() : "not saved");
  } else if (result.last_checkpoint) {
    log_info("done: step {} of {}; last checkpoint {}{}", result.step, result.max_steps,
             result.last_checkpoint->string(), describe_best(job.evaluation, result));
  }
  return result.exit;
}

ExitCode train(const JobArguments& arguments, const std::string& resume) {
  const JobConfig job = load_job(arguments.path, arguments.overrides);
  if (is_prepared(job.data.directory)) check_prepared_as(job, arguments.path, arguments.overrides);
  std::signal(SIGPIPE, SIG_IGN);  // training continues if its console is closed
  const StopSignals signals;
  Session session = session_of(job, job.timeouts);
  return session.run([&] { return train(session, job, arguments.overrides, resume); });
}

}  // namespace

void add_train_command(Command& app, Action& action) {
  constexpr auto kPurpose = "Train a job; many ranks: under mpirun or srun. Rerun, it resumes from its last save.";
  Command command = app.add_command("train", kPurpose, Workers::Ranks);
  command.footer(
      "  mpirun -np 2 --bind-to none weft train job.yaml\n"
      "  weft train job.yaml --set train.max_steps=100 --set name=short\n"
      "Writes checkpoints/, metrics.jsonl and, with train.report, report.html to the job's run directory (runs/NAME).\n"
      "On SIGUSR1 or SIGTERM to mpirun it saves and exits with code 75; rerun the same command to resume.\n"
      "Threads per rank: OMP_NUM_THREADS, else an equal share of the available cores.\n"
      "The keys of a job: weft keys [SECTION].");
  auto arguments = std::make_shared<JobArguments>();
  auto resume = std::make_shared<std::string>("auto");
  arguments->add_to(command);
  command
      .add_option("--resume", *resume,
                  "auto: the run's latest valid checkpoint, if it has begun; must: only that; never: from scratch; or "
                  "a checkpoint")
      .type_name("auto|must|never|DIR");
  command.on_parsed([=, &action] { action = [=] { return train(*arguments, *resume); }; });
}

}  // namespace weft
