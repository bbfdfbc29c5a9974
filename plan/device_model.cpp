// SPDX-License-Identifier: Apache-2.0
#include "plan/device_model.h"

#include <algorithm>

namespace weft {
namespace {

// The bandwidth and latency between the ranks of an axis.
struct Way {
  double bytes_per_second = 0;
  double hop = 0;  // least seconds per hop, averaged over all hops
};
struct Axis {
  int ranks = 1;
  Way ring;
  Way direct;  // between each rank and all others at once

  // An all-reduce goes around the ring twice; an all-to-all uses no ring.
  double seconds(const std::string& collective, const StepPlan::Traffic& sent) const {
    const bool all_to_all = collective.ends_with(".all_to_all");
    const double hops = all_to_all ? 1 : (ranks - 1) * (collective.ends_with(".all_reduce") ? 2 : 1);
    const Way& way = all_to_all ? direct : ring;
    return sent.bytes / way.bytes_per_second + static_cast<double>(sent.calls) * hops * way.hop;
  }
};

// Neighbours on an axis are as many ranks apart as the product of the sizes of its inner axes. The rings of an axis
// that spans nodes go through the adapters of all devices that the axis has in a node; data that a rank sends directly
// to other nodes goes through its own adapter.
Axis way_along(MeshAxis axis, const MeshLayout& layout, const DeviceSpec& device, const Reach& reach) {
  int apart = 1;
  for (auto inner = kGridAxes.rbegin(); inner->axis != axis; ++inner) apart *= layout.*inner->size;
  const int ranks = layout.size(axis), span = ranks * apart;
  const double link = device.link_gbps * reach.links * 1e9;
  if (span <= device.per_node) {
    const Way within{.bytes_per_second = link, .hop = reach.link_hop};
    return {.ranks = ranks, .ring = within, .direct = within};
  }
  const int here = std::max(1, device.per_node / apart);
  const double adapter = device.network_gbps * reach.links * 1e9, network = adapter * here;
  // Of every `here` hops, one leaves the node.
  const double hop = (reach.link_hop * (here - 1) + reach.network_hop) / here;
  const double leaves = static_cast<double>(ranks - here) / (ranks - 1);  // share of the directly sent bytes
  return {.ranks = ranks,
          .ring = {.bytes_per_second = std::min(link, network), .hop = hop},
          .direct = {.bytes_per_second = std::min(link / (1 - leaves), adapter / leaves), .hop = reach.network_hop}};
}

// Weft's own attention launches one kernel forward and two backward.
int64_t launches_of(const Ledger::Entry& operation) {
  if (operation.kind == OperationKind::Attention) {
    const bool backward = std::ranges::any_of(operation.parts, [](const auto& part) { return part.first.backward; });
    return operation.calls * (backward ? 2 : 1);
  }
  if (operation.parts.empty()) return operation.calls;
  int64_t launches = 0;
  for (const auto& [part, count] : operation.parts) launches += count;
  return launches;
}

void price_operations(const StepPlan& plan, const DeviceSpec& device, const Reach& reach, PredictedStep& step) {
  const PartTimes times(device, reach, plan.precision, plan.attention);
  const auto of_kind = [&step](OperationKind kind) -> double& {
    return kind == OperationKind::Product     ? step.products
           : kind == OperationKind::Attention ? step.attention
                                              : step.memory;
  };
  for (const auto& [name, operation] : plan.operations) {
    if (operation.parts.empty()) of_kind(operation.kind) += times.whole(operation);
    for (const auto& [part, count] : operation.parts) {
      of_kind(part.kind) += times.seconds(part) * static_cast<double>(count);
    }
    step.launches += launches_of(operation);
  }
  const auto launches = static_cast<double>(step.launches);
  step.gaps = launches * (plan.graphs ? reach.graph_gap : reach.gap) + reach.step;
  step.host = launches * (plan.graphs ? reach.graph_launch : reach.launch) + reach.step;
}

// A third of forward and backward is forward; what replicas send overlaps with one micro-batch of the step.
void price_collectives(const StepPlan& plan, const DeviceSpec& device, const Reach& reach, PredictedStep& step) {
  for (const GridAxis& grid : kReplicaAxes) {
    const Axis way = way_along(grid.axis, plan.layout, device, reach);
    const std::string prefix = fmt::format("{}.", name(grid.axis));
    for (const auto& [collective, sent] : plan.traffic) {
      if (collective.starts_with(prefix)) step.shards += way.seconds(collective, sent);
    }
  }
  const Axis dp = way_along(MeshAxis::Dp, plan.layout, device, reach);
  double gradients = 0, weights = 0, last_bucket = 0;
  for (const auto& [name, sent] : plan.traffic) {
    if (!name.starts_with("dp.")) continue;
    const double seconds = dp.seconds(name, sent);
    const bool of_weights = name == "dp.all_gather" && plan.gathers_weights;
    (of_weights ? weights : gradients) += seconds;
    if (!of_weights) last_bucket = std::max(last_bucket, seconds / static_cast<double>(sent.calls));
  }
  const double micro_batch =
      (step.products + step.attention + step.memory) / static_cast<double>(std::max<int64_t>(1, plan.micro_batches));
  step.replicas = std::max(last_bucket, gradients - micro_batch * 2 / 3) + std::max(0.0, weights - micro_batch / 3);
}

}  // namespace

PredictedStep predict_step(const StepPlan& plan, const DeviceSpec& device, const Reach& reach) {
  PredictedStep step;
  price_operations(plan, device, reach, step);
  price_collectives(plan, device, reach, step);
  return step;
}

}  // namespace weft
