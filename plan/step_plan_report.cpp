// SPDX-License-Identifier: Apache-2.0
#include "plan/step_plan_report.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

std::string mib(double bytes) { return fmt::format("{:.1f}", bytes / (1 << 20)); }
std::string mib(size_t bytes) { return mib(static_cast<double>(bytes)); }

std::string traffic_table(const StepPlan& plan) {
  std::string text = fmt::format("\nsent by a rank in one step, {} micro-batches:\n", plan.micro_batches);
  for (const auto& [name, entry] : plan.traffic) {
    text += fmt::format("  {:<22} {:>6} calls {:>12} MiB\n", name, entry.calls, mib(entry.bytes));
  }
  return text;
}

}  // namespace

std::optional<double> step_seconds(const StepPlan& plan, const RankCapacity& rank) {
  if (rank.teraflops <= 0) return std::nullopt;
  double moved = 0;
  for (const GridAxis& grid : kGridAxes) moved += plan.moved(std::string(name(grid.axis)));
  if (moved > 0 && rank.gigabytes_per_second <= 0) return std::nullopt;
  return plan.flops / (rank.teraflops * 1e12) + (moved > 0 ? moved / (rank.gigabytes_per_second * 1e9) : 0);
}

std::string describe(std::span<const StepPlan> plans, const RankCapacity& rank) {
  std::string text = fmt::format("{} parameters, {} target tokens per step; MiB per rank:\n", plans[0].parameters,
                                 plans[0].target_tokens);
  const auto add_line = [&](const auto&... columns) {
    text +=
        fmt::format("{:>9} {:>10} {:>10} {:>10} {:>11} {:>10} {:>10} {:>10} {:>9} {:>10} {:>10} {:>10}", columns...);
  };
  add_line(grid_text(), "weights", "gradients", "optimizer", "activations", "workspace", "peak", "save copy", "TFLOP",
           "dp moves", "tp moves", "seconds");
  text += "\n";
  for (const StepPlan& p : plans) {
    const bool fits =
        rank.memory_gib <= 0 || static_cast<double>(p.peak_bytes + p.snapshot_bytes) <= rank.memory_gib * (1 << 30);
    const auto seconds = step_seconds(p, rank);
    add_line(p.layout.text(), mib(p.weight_bytes), mib(p.gradient_bytes), mib(p.optimizer_bytes),
             mib(p.activation_bytes), mib(p.workspace_bytes()), mib(p.peak_bytes), mib(p.snapshot_bytes),
             fmt::format("{:.4g}", p.flops / 1e12), mib(p.moved("dp")), mib(p.moved("tp")),
             seconds ? fmt::format("{:.4g}", *seconds) : "n/a");
    text += fits ? "\n" : "  does not fit\n";
  }
  for (const StepPlan& p : plans) {
    if (p.exact_sum_bytes == 0) continue;
    text += fmt::format("gradients of {} hold {} MiB of integers (numerics: same_bits)\n", p.layout.text(),
                        mib(p.exact_sum_bytes));
  }
  if (plans.size() == 1) text += traffic_table(plans[0]);
  return text;
}

Json to_json(const StepPlan& plan, const RankCapacity& rank) {
  Json traffic = Json::object();
  for (const auto& [name, entry] : plan.traffic) traffic[name] = {{"calls", entry.calls}, {"bytes", entry.bytes}};
  const auto seconds = step_seconds(plan, rank);
  Json json = plan.layout;
  json.update({{"parameters", plan.parameters},
               {"weight_bytes", plan.weight_bytes},
               {"gradient_bytes", plan.gradient_bytes},
               {"exact_sum_bytes", plan.exact_sum_bytes},
               {"optimizer_bytes", plan.optimizer_bytes},
               {"activation_bytes", plan.activation_bytes},
               {"workspace_bytes", plan.workspace_bytes()},
               {"peak_bytes", plan.peak_bytes},
               {"snapshot_bytes", plan.snapshot_bytes},
               {"flops", plan.flops},
               {"target_tokens", plan.target_tokens},
               {"micro_batches", plan.micro_batches},
               {"traffic", traffic},
               {"seconds", seconds ? Json(*seconds) : Json(nullptr)}});
  return json;
}

Json to_json(std::span<const StepPlan> plans, const RankCapacity& rank) {
  Json all = Json::array();
  for (const StepPlan& plan : plans) all.push_back(to_json(plan, rank));
  return all;
}

}  // namespace weft
