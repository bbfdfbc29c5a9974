#include <algorithm>

#include "base/log.h"
#include "base/mpi.h"
#include "base/progress.h"
#include "data/prepare/prepare.h"
#include "job/job.h"
#include "launch/commands.h"
#include "parallel/session.h"

namespace weft {
namespace {

ExitCode prepare_job(const JobArguments& arguments, int threads, bool force) {
  const JobConfig job = load_job_of_text(arguments.path, arguments.overrides);
  Progress console(true);
  PrepareOptions options{.threads = threads > 0 ? threads : threads_alone(), .force = force};
  options.progress = [&console](const PrepareProgress& p) {
    if (p.total_bytes == 0) return console.show(fmt::format("{}: {}", p.phase, format_duration(p.seconds)));
    console.show(fmt::format("{}: {:3.0f} %  {}B/s  {} left", p.phase, 100 * p.fraction(),
                             format_count(p.bytes_per_second()), format_duration(p.seconds_left())));
  };
  log_info("{}", describe_memory(job.data, job.tokenizer, job.target_tokenizer, options.threads));
  const PrepareReport report = prepare(job.data, job.tokenizer, job.target_tokenizer, options);
  console.clear();
  log_info("{}", describe(report));
  for (const MixtureSource& other : job.data.mixture) {
    if (is_prepared(other.directory)) continue;
    log_info("{} of data.mixture is not prepared: that is for a job of its own", other.directory);
  }
  return ExitCode::Done;
}

// Of several ranks the first prepares, and the others wait for it.
ExitCode on_rank0(const std::function<ExitCode()>& body) {
  const LauncherInfo launcher = find_launcher();
  if (!launcher.present) return body();
  const MpiEnvironment mpi(launcher);
  const ExitCode code = mpi.rank() == 0 ? body() : ExitCode::Done;
  mpi.meet_asleep();
  return code;
}

}  // namespace

void add_prepare_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("prepare", "Make the job's dataset: text to tokens in HDF5 shards.");
  command->footer(
      "Reads the job's `data` and tokenizer sections alone and writes `data.directory`; nothing half-written is ever "
      "read.\n"
      "If everything is there already it returns at once; if the text or the settings have changed it refuses,\n"
      "and --force replaces the dataset. Killed, it goes on where it was when it is started again. Under mpirun rank 0 "
      "prepares and the others wait.\n"
      "Then: weft inspect DIRECTORY, weft train JOB.");
  auto arguments = std::make_shared<JobArguments>();
  auto threads = std::make_shared<int>(0);
  auto force = std::make_shared<bool>(false);
  arguments->add_to(*command);
  command->add_option("--threads", *threads, "Threads that tokenise; 0: all processors. The result is the same");
  command->add_flag("--force", *force, "Replace a dataset that was made of other text or settings");
  command->callback(
      [=, &action] { action = [=] { return on_rank0([&] { return prepare_job(*arguments, *threads, *force); }); }; });
}

}  // namespace weft
