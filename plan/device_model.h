// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/part_times.h"
#include "plan/step_plan.h"

namespace weft {

// Seconds of one step of one rank. Operations are priced part by part (PartTimes), with a gap after each kernel. A
// collective sends what a ring sends and waits for its hops: weft has NCCL add around rings (parallel/nccl/sums.h). An
// all-to-all has one hop; its traffic between nodes goes through the rank's own adapter. What replicas send overlaps
// with the backward pass of the last micro-batch (gradients) and with the first forward pass (weights), except the last
// bucket, which overlaps with nothing; what the shards of a model send overlaps with nothing.
struct PredictedStep {
  double products = 0;
  double attention = 0;
  double memory = 0;    // passes over memory
  double gaps = 0;      // between kernels, and at the end of the step
  double shards = 0;    // collectives over the axes that divide a replica
  double replicas = 0;  // collectives over dp that overlap with nothing
  double host = 0;      // host time to launch all kernels: a step takes no less
  int64_t launches = 0;

  double device() const { return products + attention + memory + gaps + shards + replicas; }
  double seconds() const { return device() > host ? device() : host; }
};
PredictedStep predict_step(const StepPlan& plan, const DeviceSpec& device, const Reach& reach = {});

}  // namespace weft
