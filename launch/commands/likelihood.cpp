// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/output.h"
#include "evaluate/likelihood_requests.h"
#include "launch/commands.h"
#include "launch/json_line.h"
#include "launch/line_files.h"
#include "launch/model_options.h"

namespace weft {
namespace {

struct LikelihoodArguments {
  std::string requests;
  ModelArguments model;
};

ExitCode run_likelihood(const LikelihoodArguments& a) {
  const std::vector<LikelihoodRequest> requests = read_requests(a.requests, parse_likelihood_request);
  return a.model.run([&](Session& session, const LoadedModel& loaded) {
    require_task(loaded, Task::Gpt, "weft rescore has likelihoods of translations");
    const std::vector<LikelihoodAnswer> answers = answer_likelihoods(loaded, requests);
    if (!session.is_rank0()) return;
    for (const LikelihoodAnswer& answer : answers) print(json_line(nlohmann::ordered_json(answer)) + "\n");
  });
}

}  // namespace

void add_likelihood_command(Command& app, Action& action) {
  Command command =
      app.add_command("likelihood", "How likely texts are under a language model, for evaluations.", Workers::Ranks);
  auto a = std::make_shared<LikelihoodArguments>();
  command.footer(
      "  weft likelihood requests.jsonl --checkpoint runs/NAME >answers.jsonl\n"
      "One request per line: {\"context\": \"The capital of France is\", \"continuation\": \" Paris\"}, or {\"text\": "
      "\"...\"}\n"
      "for a text by itself. The answers come in the same order: {\"log_probability\": ..., \"greedy\": ..., "
      "\"tokens\": "
      "...},\n"
      "in nats; greedy says whether each token is the likeliest where it stands. Under MPI the ranks divide the "
      "requests.\n"
      "python/weft_lm_eval.py asks for what Eleuther's lm-evaluation-harness wants to know (docs/evaluation.md).");
  command.add_option("requests", a->requests, "Requests, one JSON object per line (may be gzipped)")
      .required()
      .type_name("FILE");
  a->model.add_to(command, nullptr);
  a->model.add_tp_to(command, "requests");
  command.on_parsed([=, &action] { action = [=] { return run_likelihood(*a); }; });
}

}  // namespace weft
