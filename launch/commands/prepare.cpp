// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/prepare.h"

#include <functional>
#include <numeric>

#include "base/log.h"
#include "base/progress.h"
#include "data/prepare/encoding/ranks.h"
#include "job/job.h"
#include "launch/commands.h"
#include "launch/job_options.h"
#include "parallel/session.h"

namespace weft {
namespace {

// `watch` hears of progress too.
ExitCode prepare_job(const JobConfig& job, const PrepareOptions& given,
                     const std::function<void(const PrepareProgress&)>& watch) {
  PrepareOptions options = given;
  Progress console(true);
  options.progress = [&](const PrepareProgress& p) {
    watch(p);
    if (p.total_bytes == 0) return console.show(fmt::format("{}: {}", p.phase, format_duration(p.seconds)));
    console.show(fmt::format("{}: {:3.0f} %  {}B/s  {} left", p.phase, 100 * p.fraction(),
                             format_count(p.bytes_per_second), format_duration(p.seconds_left)));
  };
  const PrepareReport report = prepare(job.text(), options);
  console.clear();
  log_info("{}", describe(report));
  for (const MixtureSource& other : job.data.mixture) {
    if (is_prepared(other.directory)) continue;
    log_info("{} of data.mixture is not prepared; prepare it with its own job", other.directory);
  }
  return ExitCode::Done;
}

// Rank 0 beats a few times a second, except while it compares its inputs with those of an earlier preparation and while
// it learns a tokenizer: these take as long as they take.
std::function<void(const PrepareProgress&)> watched_by(Session& session, const PhaseBudgets& budgets) {
  PhaseBudgets unlimited = budgets;
  unlimited.init_seconds = 0;
  session.set_budgets(unlimited);
  return [&session, budgets, unlimited](const PrepareProgress& p) {
    session.set_budgets(p.total_bytes == 0 ? unlimited : budgets);
    session.mesh().heartbeat().beat();
  };
}

// Rank 0 prepares; the other ranks encode for it. `threads`: 0 for a rank's fair share.
ExitCode prepare_on_ranks(const JobArguments& arguments, int threads, bool force) {
  const JobConfig job = load_job_of_text(arguments.path, arguments.overrides);
  Session session({}, among_ranks(job.timeouts), DeviceChoice::Cpu);
  return session.run([&] {
    if (!session.is_rank0()) session.rely_on_rank0();
    PrepareOptions options{.threads = threads > 0 ? threads : session.context().threads(), .force = force};
    std::optional<EncodingRanks> ranks;
    if (session.world_size() > 1) options.ranks = &ranks.emplace(options.threads);
    if (!session.is_rank0()) {
      ranks->serve(job.data, [&session] { session.mesh().heartbeat().beat(); });
      return ExitCode::Done;
    }
    const int everywhere =
        ranks ? std::accumulate(ranks->threads().begin(), ranks->threads().end(), 0) : options.threads;
    log_info("{}", describe_memory(job.text(), everywhere));
    const ExitCode code = prepare_job(job, options, watched_by(session, job.timeouts));
    if (ranks) ranks->dismiss();
    return code;
  });
}

}  // namespace

void add_prepare_command(Command& app, Action& action) {
  Command command =
      app.add_command("prepare", "Prepare the job's dataset: tokenise text into HDF5 shards.", Workers::Ranks);
  command.footer(
      "Reads only the `data` and tokenizer sections of the job and writes `data.directory`, which appears when it is\n"
      "complete. An up-to-date dataset is left as it is; if the text or the settings have changed, it is only "
      "replaced\n"
      "with --force. A preparation that was killed resumes when it is started again.\n"
      "Under mpirun all ranks encode and rank 0 writes: the same bytes, sooner.\n"
      "Then: weft inspect DIRECTORY, weft train JOB.");
  auto arguments = std::make_shared<JobArguments>();
  auto threads = std::make_shared<int>(0);
  auto force = std::make_shared<bool>(false);
  arguments->add_to(command);
  command.add_option("--threads", *threads,
                     "Tokenising threads per rank; 0: its share of the cores. The result does not depend on it");
  command.add_flag("--force", *force, "Replace a dataset that was made from other text or settings");
  command.on_parsed([=, &action] { action = [=] { return prepare_on_ranks(*arguments, *threads, *force); }; });
}

}  // namespace weft
