// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/output.h"
#include "launch/command_line/help.h"
#include "launch/commands.h"
#include "launch/job_options.h"
#include "plan/prediction_report.h"
#include "plan/step_plan_report.h"

namespace weft {
namespace {

struct PlanArguments {
  NamedJobArguments job;
  std::string layout;
  int ranks = 0;
  int threads = 1;
  std::string device;
  int nodes = 0;
  RankCapacity rank;
  std::string json;
};

MeshLayout stated_layout(const std::string& text) {
  if (const auto layout = parse_layout(text)) return *layout;
  throw ConfigError(fmt::format("--layout {}: not a layout", text),
                    fmt::format("give {}, as in --layout 8x2", grid_text()));
}

std::vector<MeshLayout> layouts_of(const PlanArguments& a, const JobConfig& job) {
  if (a.ranks > 0) return possible_layouts(job, a.ranks);
  if (a.nodes > 0) return possible_layouts(job, a.nodes * find_device(a.device).per_node);
  if (a.layout.empty()) return {job.parallel.replica()};
  const MeshLayout layout = stated_layout(a.layout);
  check_layout(job, layout);
  return {layout};
}

ExitCode plan(const PlanArguments& a) {
  const JobConfig job = a.job.load();
  const PlannedDevice on{.threads = a.threads, .cuda = !a.device.empty()};
  std::vector<StepPlan> plans;
  for (const MeshLayout& layout : layouts_of(a, job)) plans.push_back(plan_step(job, layout, on));
  std::string text, json;
  if (on.cuda) {
    const DeviceSpec& device = find_device(a.device);
    const std::vector<Prediction> predictions = predict(std::move(plans), device);
    text = describe(predictions, device), json = to_json(predictions, device).dump(2);
  } else {
    text = describe(plans, a.rank), json = to_json(plans, a.rank).dump(2);
  }
  print(text);
  if (!a.json.empty()) write_file_atomically(a.json, json + "\n");
  return ExitCode::Done;
}

}  // namespace

void add_plan_command(Command& app, Action& action) {
  Command command = app.add_command(
      "plan", "Memory, FLOPs and traffic per rank of a job's largest step, without a device.", Workers::OneProcess);
  auto a = std::make_shared<PlanArguments>();
  a->job.add_to(command);
  command.add_option("--layout", a->layout, "Replicas x ranks per replica, such as 64x8 (default: 1 x parallel.tp)")
      .type_name("DPxTP");
  command.add_option("--ranks", a->ranks, "Number of ranks to start the job with: all their layouts, one per line")
      .positive();
  add_renamed_option(command, "--sweep", "--ranks");
  command.add_option("--threads", a->threads, "Threads per rank on a CPU; some workspaces grow with them")
      .positive()
      .show_default();
  Option device = command.add_option("--device", a->device, "Predict the step's time on such a device")
                      .type_name("NAME:{" + device_names(",") + "}");
  command.add_option("--nodes", a->nodes, "All layouts of N nodes with 8 devices each, fastest first")
      .positive()
      .needs(device);
  command.add_option("--memory", a->rank.memory_gib, "GiB per rank; layouts that need more are marked").positive();
  command.add_option("--teraflops", a->rank.teraflops, "TFLOP/s that a rank reaches, to estimate the seconds per step")
      .positive();
  command
      .add_option("--bandwidth", a->rank.gigabytes_per_second, "GB/s between neighbouring ranks, for the same estimate")
      .positive();
  command.add_option("--json", a->json, "Also write the figures to this file").type_name("FILE");
  command.footer(
      "weft plan configs/gpt/gpt2-124m.yaml --ranks 8 --memory 80\n"
      "weft plan --model gpt2-1558m --set train.precision=bf16 --set batch.sequences=512 --device h100 --nodes 8\n"
      "Peak: the most memory that the tensors of a rank take at once, without the copy of weights and moments that a\n"
      "save writes from. Activations: what a micro-batch's forward pass keeps for backward. Workspace: temporary\n"
      "tensors, including gradients of activations. Seconds: an estimate without overlap of computation and\n"
      "communication; real steps are faster by whatever overlaps.");
  command.on_parsed([=, &action] { action = [=] { return plan(*a); }; });
}

}  // namespace weft
