// SPDX-License-Identifier: Apache-2.0
#include "plan/device_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace weft {
namespace {

// From NVIDIA's data sheets: A100 80 GB SXM (2021), H100 SXM (2023), H200 SXM (2024); 8 on an HGX board, one 200 Gb/s
// (A100) or 400 Gb/s adapter for each. On Hopper mma.sync reaches about 62 % of the rate of wgmma (Luo et al. 2024,
// "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture").
const std::array<DeviceSpec, 3>& specs() {
  static const std::array<DeviceSpec, 3> all{{
      {.name = "a100",
       .title = "NVIDIA A100 SXM 80 GB",
       .own_name = "A100-SXM4-80GB",
       .memory_gib = 79,
       .memory_gbps = 2039,
       .bf16_teraflops = 312,
       .bf16_mma_teraflops = 312,
       .fp32_teraflops = 19.5,
       .link_gbps = 300,
       .network_gbps = 25},
      {.name = "h100",
       .title = "NVIDIA H100 SXM 80 GB",
       .own_name = "H100 80GB HBM3",
       .memory_gib = 79,
       .memory_gbps = 3350,
       .bf16_teraflops = 989,
       .bf16_mma_teraflops = 613,
       .fp32_teraflops = 67,
       .link_gbps = 450,
       .network_gbps = 50},
      {.name = "h200",
       .title = "NVIDIA H200 SXM 141 GB",
       .own_name = "NVIDIA H200",
       .memory_gib = 140,
       .memory_gbps = 4800,
       .bf16_teraflops = 989,
       .bf16_mma_teraflops = 613,
       .fp32_teraflops = 67,
       .link_gbps = 450,
       .network_gbps = 50},
  }};
  return all;
}

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

void price_operations(const StepPlan& plan, const DeviceSpec& device, const Reach& reach, PredictedStep& step) {
  const bool bf16 = plan.precision == Precision::Bf16;
  const double products = stated_gflops(device, plan.precision) * reach.products * 1e9;
  const double attention = (bf16 ? device.bf16_mma_teraflops : device.fp32_teraflops) * reach.attention * 1e12;
  const double memory = device.memory_gbps * reach.memory * 1e9;
  for (const auto& [name, cost] : plan.operations) {
    const bool attends = cost.kind == OperationKind::Attention;
    const double computing = cost.flops / (attends ? attention : products), moving = cost.bytes / memory;
    if (computing < moving) {
      step.memory += moving;
    } else {
      (attends ? step.attention : step.products) += computing;
    }
    step.host += static_cast<double>(cost.calls) * reach.operation;
  }
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

std::span<const DeviceSpec> known_devices() { return specs(); }

std::string device_names(const std::string& between) {
  std::string names;
  for (const DeviceSpec& device : specs()) names += (names.empty() ? "" : between) + device.name;
  return names;
}

const DeviceSpec& find_device(const std::string& name) {
  const auto at = std::ranges::find(specs(), name, &DeviceSpec::name);
  if (at != specs().end()) return *at;
  throw ConfigError(fmt::format("--device {}: its rates are not known", name), "known are " + device_names(", "));
}

double stated_gflops(const DeviceSpec& device, Precision precision) {
  return 1e3 * (precision == Precision::Bf16 ? device.bf16_teraflops : device.fp32_teraflops);
}

double stated_gflops(const std::string& device_name, Precision precision) {
  for (const DeviceSpec& device : specs()) {
    if (device_name.find(device.own_name) != std::string::npos) return stated_gflops(device, precision);
  }
  return 0;
}

PredictedStep predict_step(const StepPlan& plan, const DeviceSpec& device, const Reach& reach) {
  PredictedStep step;
  price_operations(plan, device, reach, step);
  price_collectives(plan, device, reach, step);
  return step;
}

}  // namespace weft
