// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/config/reader.h"
#include "base/log.h"
#include "base/output.h"
#include "bench/step_bench.h"
#include "job/named_jobs.h"
#include "launch/build_info.h"
#include "launch/commands.h"
#include "launch/job_options.h"
#include "launch/revision.h"
#include "parallel/session.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

struct BenchArguments {
  NamedJobArguments job;
  BenchOptions options;
  SyntheticOptions data;
  std::string lengths;
  std::string json;
  bool no_peak = false;
};

void report_figures(const BenchArguments& a, const JobConfig& job, const BenchReport& report) {
  print(job.name + ": " + describe(report));
  if (!a.json.empty()) {
    Json out = {{"format", 1}, {"version", weft_version()}, {"revision", git_revision()}, {"job", job.name}};
    out.update(to_json(report));
    write_file_atomically(a.json, out.dump(1) + "\n");
  }
}

ExitCode bench(BenchArguments a) {
  const JobConfig job = a.job.load();
  a.options.peak = !a.no_peak;
  a.data.lengths = a.lengths;
  const SyntheticData data = make_synthetic_data(job, a.data);
  Session session = session_of(job, among_ranks(job.timeouts));
  return session.run([&] {
    const BenchReport report = bench_steps(session.context(), session.mesh(), job, data, a.options);
    if (session.is_rank0()) report_figures(a, job, report);
    return ExitCode::Done;
  });
}

}  // namespace

void add_bench_command(Command& app, Action& action) {
  Command command = app.add_command(
      "bench",
      "Time training steps on synthetic data: compute, communication, waiting for data, optimizer, share of the "
      "measured peak. On many ranks under mpirun.",
      Workers::Ranks);
  auto a = std::make_shared<BenchArguments>();
  a->job.add_to(command);
  command.add_option("--steps", a->options.steps, "Measured steps").show_default().between(1, 1000000);
  command.add_option("--warmup", a->options.warmup, "Steps before the measured ones")
      .show_default()
      .between(0, 1000000);
  command.add_option("--vocabulary", a->data.vocabulary, "Vocabulary size (default: the dataset's)")
      .between(1, 1 << 24);
  command
      .add_option("--lengths", a->lengths,
                  "Translation: file of sentence lengths, one line SOURCE_TOKENS TARGET_TOKENS per pair")
      .type_name("FILE");
  command.add_option("--json", a->json, "Write all figures to this file").type_name("FILE");
  // --no-ceiling is the former name: bench/cpu/compare.py also measures earlier programs, which accept only that name.
  command.add_flag("--no-peak,--no-ceiling", a->no_peak, "Do not measure the peak");
  command.add_flag("--operations", a->options.operations, "Afterwards, as many steps again with every operation timed");
  command.footer("Named models (--model):\n" + describe_bench_jobs() +
                 "Fields of any job can be changed: --set train.precision=bf16 --set batch.sequences=1\n"
                 "The measured peak is the best of a sweep of large matrix products, measured in the same run with "
                 "the same threads.\n"
                 "bench/README.md explains every figure and every field of the JSON.");
  command.on_parsed([=, &action] { action = [=] { return bench(*a); }; });
}

}  // namespace weft
