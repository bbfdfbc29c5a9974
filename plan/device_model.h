// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "plan/step_plan.h"

namespace weft {

// A device and the machines that it is sold in, as the maker states them. Rates are of dense matrices.
struct DeviceSpec {
  std::string name;               // as --device says it: "h100"
  std::string title;              // "NVIDIA H100 SXM 80 GB"
  std::string own_name;           // how the driver calls it: "H100 80GB HBM3"
  double memory_gib = 0;          // that a process can have
  double memory_gbps = 0;         // GB/s
  double bf16_teraflops = 0;      // tensor cores, by the instructions that a library uses
  double bf16_mma_teraflops = 0;  // by mma.sync, with which weft's own kernels are written
  double fp32_teraflops = 0;      // without TF32
  double link_gbps = 0;           // GB/s to the devices of the same node, one way
  double network_gbps = 0;        // GB/s of the device's share of its node's network, one way
  int per_node = 8;
};
std::span<const DeviceSpec> known_devices();
double stated_gflops(const DeviceSpec& device, Precision precision);
// TFLOP/s of dense products for a device's own name, "NVIDIA H100 80GB HBM3, sm_90"; 0 for an unknown device.
double stated_gflops(const std::string& device_name, Precision precision);
// ConfigError that lists the names if there is no such device.
const DeviceSpec& find_device(const std::string& name);

// What is assumed of every device: the shares of the stated rates that are reached. weft measured none of them: with
// these GPT-2 1558M comes out on H100s as llm.c reports it of eight (47 k tokens/s each), and GPT-2 124M a fifth faster
// than it reports (460 k), since small products reach less.
struct Reach {
  double products = 0.52;    // of the tensor cores' rate, by a library
  double attention = 0.50;   // of mma.sync's rate, forward and backward together
  double memory = 0.75;      // of the memory's rate, whatever reads and writes more than it computes
  double links = 0.80;       // of the links and the network
  double operation = 6e-6;   // seconds of the host for each operation, launches included
  double link_hop = 1.5e-6;  // seconds from rank to rank at least, within a node
  double network_hop = 8e-6;
};

// Seconds of one step of one rank. Operations are priced one kind at a time: FLOPs over a rate or bytes over the
// memory's, whichever takes longer (the roofline, Williams et al. 2009). A collective sends what a ring sends and waits
// for its hops: weft has NCCL add around rings (parallel/nccl/sums.h). An all-to-all has one hop; what of it leaves the
// node goes through the rank's own adapter. What replicas send hides behind the backward
// pass of the last micro-batch (gradients) and behind the first forward pass (weights), with the last bucket behind
// nothing; what the shards of a model send hides behind nothing.
struct PredictedStep {
  double products = 0;
  double attention = 0;
  double memory = 0;    // everything else
  double shards = 0;    // collectives over the axes that divide a replica
  double replicas = 0;  // collectives over dp that nothing hides
  double host = 0;      // the step takes no less, since the host queues every operation of it

  double device() const { return products + attention + memory + shards + replicas; }
  double seconds() const { return device() > host ? device() : host; }
};
PredictedStep predict_step(const StepPlan& plan, const DeviceSpec& device, const Reach& reach = {});

}  // namespace weft
