#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/log.h"
#include "bench/step_plan.h"
#include "launch/commands.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

struct PlanArguments {
  JobArguments job;
  std::string layout;
  int sweep = 0;
  int threads = 1;
  double memory = 0;     // GiB a rank
  double teraflops = 0;  // that a rank reaches
  double bandwidth = 0;  // GB/s between neighbours
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

JobConfig with_tp(JobConfig job, int tp) {
  job.parallel.tp = tp;
  return job;
}

// All layouts of `ranks` ranks that divide the model evenly.
std::vector<MeshLayout> layouts_of(const JobConfig& job, int ranks) {
  std::vector<MeshLayout> layouts;
  for (int tp = 1; tp <= ranks; ++tp) {
    if (ranks % tp == 0 && job_problems(with_tp(job, tp)).empty()) layouts.push_back({ranks / tp, tp});
  }
  if (layouts.empty()) throw ConfigError(fmt::format("no layout of {} ranks divides this model", ranks));
  return layouts;
}

// Without overlap: an upper bound. Nothing where the speeds were not given, never a guess.
std::optional<double> step_seconds(const PlanArguments& a, const StepPlan& p) {
  if (a.teraflops <= 0) return std::nullopt;
  const double moved = p.moved("dp") + p.moved("tp");
  if (moved > 0 && a.bandwidth <= 0) return std::nullopt;
  return p.flops / (a.teraflops * 1e12) + (moved > 0 ? moved / (a.bandwidth * 1e9) : 0);
}

std::string mib(double bytes) { return fmt::format("{:.1f}", bytes / (1 << 20)); }
std::string mib(size_t bytes) { return mib(static_cast<double>(bytes)); }

void print_table(const PlanArguments& a, const std::vector<StepPlan>& plans) {
  std::printf("%s parameters, %s target tokens a step; of each rank, in MiB:\n",
              fmt::format("{}", plans[0].parameters).c_str(), fmt::format("{}", plans[0].target_tokens).c_str());
  std::printf("%9s %10s %10s %10s %11s %10s %10s %9s %10s %10s %10s\n", "dp x tp", "weights", "gradients", "optimizer",
              "activations", "workspace", "peak", "TFLOP", "dp moves", "tp moves", "seconds");
  for (const StepPlan& p : plans) {
    const bool fits = a.memory <= 0 || static_cast<double>(p.peak_bytes) <= a.memory * (1 << 30);
    const auto seconds = step_seconds(a, p);
    std::printf("%9s %10s %10s %10s %11s %10s %10s %9s %10s %10s %10s%s\n",
                fmt::format("{} x {}", p.layout.dp, p.layout.tp).c_str(), mib(p.weight_bytes).c_str(),
                mib(p.gradient_bytes).c_str(), mib(p.optimizer_bytes).c_str(), mib(p.activation_bytes).c_str(),
                mib(p.workspace_bytes()).c_str(), mib(p.peak_bytes).c_str(),
                fmt::format("{:.4g}", p.flops / 1e12).c_str(), mib(p.moved("dp")).c_str(), mib(p.moved("tp")).c_str(),
                seconds ? fmt::format("{:.4g}", *seconds).c_str() : "n/a", fits ? "" : "  does not fit");
  }
}

void print_traffic(const StepPlan& p) {
  std::printf("\nsent by a rank in one step, %d micro-batches:\n", static_cast<int>(p.micro_batches));
  for (const auto& [name, entry] : p.traffic) {
    std::printf("  %-22s %6lld calls %12s MiB\n", name.c_str(), static_cast<long long>(entry.calls),
                mib(entry.bytes).c_str());
  }
}

Json to_json(const PlanArguments& a, const StepPlan& p) {
  Json traffic = Json::object();
  for (const auto& [name, entry] : p.traffic) traffic[name] = {{"calls", entry.calls}, {"bytes", entry.bytes}};
  const auto seconds = step_seconds(a, p);
  return {{"dp", p.layout.dp},
          {"tp", p.layout.tp},
          {"parameters", p.parameters},
          {"weight_bytes", p.weight_bytes},
          {"gradient_bytes", p.gradient_bytes},
          {"optimizer_bytes", p.optimizer_bytes},
          {"activation_bytes", p.activation_bytes},
          {"workspace_bytes", p.workspace_bytes()},
          {"peak_bytes", p.peak_bytes},
          {"flops", p.flops},
          {"target_tokens", p.target_tokens},
          {"micro_batches", p.micro_batches},
          {"traffic", traffic},
          {"seconds", seconds ? Json(*seconds) : Json(nullptr)}};
}

ExitCode plan(const PlanArguments& a) {
  const JobConfig job = load_job(a.job.path, a.job.overrides);
  std::vector<MeshLayout> layouts;
  if (a.sweep > 0) {
    layouts = layouts_of(job, a.sweep);
  } else if (!a.layout.empty()) {
    layouts = {parse_layout(a.layout)};
    check_job(with_tp(job, layouts[0].tp));
  } else {
    layouts = {{.dp = 1, .tp = static_cast<int>(job.parallel.tp)}};
  }
  std::vector<StepPlan> plans;
  plans.reserve(layouts.size());
  for (const MeshLayout& layout : layouts) plans.push_back(plan_step(with_tp(job, layout.tp), layout, a.threads));
  print_table(a, plans);
  if (plans.size() == 1) print_traffic(plans[0]);
  if (!a.json.empty()) {
    Json all = Json::array();
    for (const StepPlan& p : plans) all.push_back(to_json(a, p));
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
  command->add_option("--sweep", a->sweep, "All layouts of so many ranks, one a line")->check(CLI::PositiveNumber);
  command->add_option("--threads", a->threads, "Threads of a rank (CPU): some workspaces grow with them")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--memory", a->memory, "GiB that a rank has: layouts beyond it are marked")
      ->check(CLI::PositiveNumber);
  command->add_option("--teraflops", a->teraflops, "What a rank reaches, for an estimate of the step's seconds")
      ->check(CLI::PositiveNumber);
  command->add_option("--bandwidth", a->bandwidth, "GB/s between neighbours, for the same")->check(CLI::PositiveNumber);
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
