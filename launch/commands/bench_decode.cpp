// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/config/reader.h"
#include "base/output.h"
#include "bench/decode_bench.h"
#include "job/named_jobs.h"
#include "launch/build_info.h"
#include "launch/command_line/choice_option.h"
#include "launch/commands.h"
#include "launch/job_options.h"
#include "launch/revision.h"
#include "parallel/session.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

struct BenchDecodeArguments {
  std::string model = "gpt2-124m";
  std::vector<std::string> overrides;
  DecodeBenchOptions options;
  std::string json;
  bool no_bandwidth = false;
};

ExitCode bench_decode(BenchDecodeArguments a) {
  const BenchJob& named = find_bench_job(a.model);
  const JobConfig job = job_with(named.job, a.overrides);
  check_shapes(job);
  a.options.bandwidth = !a.no_bandwidth;
  Session session({}, among_ranks(job.timeouts), job.device, SharedDevices::Refused, job.cpu_level, job.threads);
  const DecodeReport report = bench_decoding(session.context(), session.mesh(), job, named.vocabulary, a.options);
  print(job.name + ": " + describe(report));
  if (a.json.empty()) return ExitCode::Done;
  Json out = {{"format", 1}, {"version", weft_version()}, {"revision", git_revision()}, {"job", job.name}};
  out.update(to_json(report));
  write_file_atomically(a.json, out.dump(1) + "\n");
  return ExitCode::Done;
}

}  // namespace

void add_bench_decode_command(Command& app, Action& action) {
  Command command = app.add_command(
      "bench-decode", "Time generation by a language model with random weights, and the machine's memory bandwidth.",
      Workers::Ranks);
  auto a = std::make_shared<BenchDecodeArguments>();
  const auto number = [&](const char* option, int64_t& value, const char* meaning) {
    command.add_option(option, value, meaning).show_default().between(1, 1000000);
  };
  command.add_option("--model", a->model, "A named model").type_name("NAME").show_default();
  add_set_option(command, a->overrides);
  number("--new-tokens", a->options.new_tokens, "Tokens to generate per text");
  number("--prompt-tokens", a->options.prompt, "Tokens per prompt");
  number("--batch", a->options.batch, "Texts generated at once");
  number("--beam", a->options.beam, "Hypotheses per text; 1: greedy");
  number("--repeats", a->options.repeats, "Measured runs, after one warm-up");
  add_weights_option(command, a->options.weights);
  command.add_flag("--no-bandwidth", a->no_bandwidth, "Do not measure the memory bandwidth");
  command.add_flag("--operations", a->options.operations, "Afterwards, one more run with every operation timed");
  command.add_option("--json", a->json, "Write all figures to this file").type_name("FILE");
  command.footer("  weft bench-decode --batch 8 --weights int8\n\nModels:\n" + describe_bench_jobs() +
                 "bench/README.md explains every figure.");
  command.on_parsed([=, &action] { action = [=] { return bench_decode(*a); }; });
}

}  // namespace weft
