#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "bench/step_plan_report.h"
#include "launch/commands.h"

namespace weft {
namespace {

struct PlanArguments {
  JobArguments job;
  std::string layout;
  int sweep = 0;
  int threads = 1;
  RankCapacity rank;
  std::string json;
};

MeshLayout parse_layout(const std::string& text) {
  MeshLayout layout;
  char end = 0;
  if (std::sscanf(text.c_str(), "%dx%d%c", &layout.dp, &layout.tp, &end) != 2 || layout.dp < 1 || layout.tp < 1) {
    throw ConfigError(fmt::format("--layout {}: not a layout", text), "give dp x tp, as in --layout 8x2");
  }
  return layout;
}

std::vector<MeshLayout> layouts_of(const PlanArguments& a, const JobConfig& job) {
  if (a.sweep > 0) return possible_layouts(job, a.sweep);
  if (a.layout.empty()) return {{.dp = 1, .tp = static_cast<int>(job.parallel.tp)}};
  const MeshLayout layout = parse_layout(a.layout);
  check_layout(job, layout);
  return {layout};
}

ExitCode plan(const PlanArguments& a) {
  const JobConfig job = load_job(a.job.path, a.job.overrides);
  std::vector<StepPlan> plans;
  for (const MeshLayout& layout : layouts_of(a, job)) plans.push_back(plan_step(job, layout, a.threads));
  std::printf("%s", describe(plans, a.rank).c_str());
  if (!a.json.empty()) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const StepPlan& p : plans) all.push_back(to_json(p, a.rank));
    write_file_atomically(a.json, all.dump(2) + "\n");
  }
  return ExitCode::Done;
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "plan", "What a rank needs on a layout: memory, FLOPs, traffic of the largest step, run dry on no device.");
  auto a = std::make_shared<PlanArguments>();
  a->job.add_to(*command);
  command->add_option("--layout", a->layout, "Replicas x ranks that share one, as in 64x8 (default: 1 x parallel.tp)")
      ->type_name("DPxTP");
  command->add_option("--sweep", a->sweep, "All layouts of N ranks, a line each")->check(CLI::PositiveNumber);
  command->add_option("--threads", a->threads, "Threads of a rank (CPU): some workspaces grow with them")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--memory", a->rank.memory_gib, "GiB that a rank has: layouts beyond it are marked")
      ->check(CLI::PositiveNumber);
  command->add_option("--teraflops", a->rank.teraflops, "What a rank reaches, for an estimate of the step's seconds")
      ->check(CLI::PositiveNumber);
  command->add_option("--bandwidth", a->rank.gigabytes_per_second, "GB/s between neighbours, for the same")
      ->check(CLI::PositiveNumber);
  command->add_option("--json", a->json, "Also write the figures to this file")->type_name("FILE");
  command->footer(
      "weft plan configs/gpt/gpt2-124m.yaml --sweep 8 --memory 80\n"
      "Peak is the most that all tensors of a rank take at once. Activations are what a micro-batch's forward pass "
      "leaves\n"
      "for its backward; workspace is what comes and goes meanwhile, gradients of activations included. The seconds\n"
      "are those of computing and of sending one after the other: what overlaps comes off.");
  command->callback([=, &action] { action = [=] { return plan(*a); }; });
}

}  // namespace weft
