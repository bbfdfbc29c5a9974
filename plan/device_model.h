// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "plan/step_plan.h"

namespace weft {

// A device and the machines that it is sold in, as the maker states them. Rates are for dense matrices.
struct DeviceSpec {
  std::string name;               // the value of --device: "h100"
  std::string title;              // "NVIDIA H100 SXM 80 GB"
  std::string own_name;           // in the driver's name for it: "H100 80GB HBM3"
  double memory_gib = 0;          // available to a process
  double memory_gbps = 0;         // GB/s
  double bf16_teraflops = 0;      // tensor cores, with the instructions that libraries use
  double bf16_mma_teraflops = 0;  // with mma.sync, which weft's own kernels use
  double fp32_teraflops = 0;      // without TF32
  double link_gbps = 0;           // GB/s to the devices of the same node, one way
  double network_gbps = 0;        // GB/s of the device's share of its node's network, one way
  int per_node = 8;
};
std::span<const DeviceSpec> known_devices();
std::string device_names(const std::string& between);
double stated_gflops(const DeviceSpec& device, Precision precision);
// TFLOP/s of dense products for a device's own name, "NVIDIA H100 80GB HBM3, sm_90"; 0 for an unknown device.
double stated_gflops(const std::string& device_name, Precision precision);
// Throws ConfigError, which lists the names, if there is no such device.
const DeviceSpec& find_device(const std::string& name);

// The shares of the stated rates that every device is assumed to reach. weft measured none of them. With these shares
// the prediction for GPT-2 1558M on H100s equals llm.c's report for eight of them (47 k tokens/s each), and for GPT-2
// 124M it is a fifth above that report (460 k), since small products reach less.
struct Reach {
  double products = 0.52;    // of the tensor cores' rate, in a library's products
  double attention = 0.50;   // of mma.sync's rate, forward and backward together
  double memory = 0.75;      // of the memory's rate, in operations that memory limits
  double links = 0.80;       // of the links and the network
  double operation = 6e-6;   // host seconds for each operation, launches included
  double link_hop = 1.5e-6;  // least seconds from rank to rank, within a node
  double network_hop = 8e-6;
};

// Seconds of one step of one rank. Operations are priced one kind at a time: FLOPs over a rate or bytes over the
// memory's rate, whichever takes longer (the roofline, Williams et al. 2009). A collective sends what a ring sends and
// waits for its hops: weft has NCCL add around rings (parallel/nccl/sums.h). An all-to-all has one hop; its traffic
// between nodes goes through the rank's own adapter. What replicas send overlaps with the backward pass of the last
// micro-batch (gradients) and with the first forward pass (weights), except the last bucket, which overlaps with
// nothing; what the shards of a model send overlaps with nothing.
struct PredictedStep {
  double products = 0;
  double attention = 0;
  double memory = 0;    // operations that memory limits
  double shards = 0;    // collectives over the axes that divide a replica
  double replicas = 0;  // collectives over dp that overlap with nothing
  double host = 0;      // host time to queue all operations: a step takes no less

  double device() const { return products + attention + memory + shards + replicas; }
  double seconds() const { return device() > host ? device() : host; }
};
PredictedStep predict_step(const StepPlan& plan, const DeviceSpec& device, const Reach& reach = {});

}  // namespace weft
