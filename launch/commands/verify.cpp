// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"
#include "base/progress.h"
#include "job/migration.h"
#include "launch/commands.h"
#include "launch/job_options.h"
#include "parallel/session.h"
#include "trainer/verification.h"

namespace weft {
namespace {

struct VerifyArguments {
  std::string run;
  Segment segment;
  int64_t to = 0;
};

// The job with which the run was started last, wherever its directory is now. Steps alone are repeated, for as long as
// they take.
JobConfig job_of(const fs::path& run) {
  const fs::path path = run / "job.yaml";
  if (!fs::is_regular_file(path)) {
    throw DataError(fmt::format("{} is not the directory of a run: it has no job.yaml", run.string()),
                    "give the run_dir of a job that was trained (runs/NAME)");
  }
  JobConfig job = parse_stored_job(read_file(path), path.string());
  job.run_dir = run.string();
  job.train.max_time.reset();
  job.train.trace.clear();
  check_job(job);
  return job;
}

ExitCode verify(const VerifyArguments& a) {
  const JobConfig job = job_of(a.run);
  Segment segment = a.segment;
  if (a.to > 0) segment.to = a.to;
  Session session = session_of(job, among_ranks(job.timeouts));
  return session.run([&] {
    log_info("{}: trained again on {} x {}; nothing is written there", a.run, counted(session.world_size(), "rank"),
             counted(session.context().threads(), "thread"));
    return verify_run(session.context(), session.mesh(), job, segment);
  });
}

}  // namespace

void add_verify_command(Command& app, Action& action) {
  Command command = app.add_command(
      "verify", "Train a run again and compare every state that it saved, bit for bit. Nothing is written into it.",
      Workers::Ranks);
  command.footer(
      "  mpirun -np 2 --bind-to none weft verify runs/NAME\n"
      "  mpirun -np 2 --bind-to none weft verify runs/NAME --from 0 --to 2000\n"
      "A line for each save: its step and digest. Exit code 0: all are the same; 9: the first that is not, with the\n"
      "tensors that differ if its checkpoint is still there. Start it in the directory from which the run was "
      "started,\n"
      "with as many ranks and threads; with numerics: same_bits on any number of ranks. The run may train meanwhile.");
  auto a = std::make_shared<VerifyArguments>();
  command.add_option("run", a->run, "The directory of a run").required().type_name("RUN");
  command
      .add_option("--from", a->segment.from,
                  "Where to begin: a step whose checkpoint is there (by default the oldest), 0 for from scratch, or a "
                  "checkpoint")
      .type_name("STEP|DIR");
  command.add_option("--to", a->to, "The last step to compare; by default the last that was saved")
      .positive()
      .type_name("STEP");
  command.on_parsed([=, &action] { action = [=] { return verify(*a); }; });
}

}  // namespace weft
