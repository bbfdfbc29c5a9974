// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "job/job.h"
#include "kernels/device/devices.h"
#include "kernels/ledger.h"
#include "model/config.h"
#include "parallel/mesh.h"

namespace weft {

// The resources that one rank of a layout needs for the largest step of a job, found by running that step dry: with the
// code that trains, on a device without memory, through communicators without peers. The rank is the first rank, whose
// shards and share of the data are as large as any other's.
struct StepPlan {
  MeshLayout layout;
  Precision precision = Precision::Fp32;
  int64_t parameters = 0;      // in the whole model
  size_t weight_bytes = 0;     // values, and masters if they are kept separately
  size_t gradient_bytes = 0;   // held between steps (ZeRO 2 holds no more than its share), with the next
  size_t exact_sum_bytes = 0;  // of the integers that gradients are summed as, with numerics: same_bits
  size_t optimizer_bytes = 0;
  size_t activation_bytes = 0;  // left by the forward pass of the largest micro-batch for its backward
  size_t peak_bytes = 0;        // of all tensors at once: the four above and workspace
  size_t snapshot_bytes = 0;    // in host memory besides: the copy that a save writes, on the rank with the largest
  double flops = 0;             // of the step, on this rank
  double model_flops = 0;       // of the step, over all ranks: plan/model_flops.h
  int64_t target_tokens = 0;    // in the step, over all ranks
  int64_t micro_batches = 0;    // on this rank
  bool gathers_weights = true;  // what replicas gather are weights, not sums of gradients
  AttentionChoice attention = AttentionChoice::Auto;
  bool graphs = false;  // steps are launched as CUDA graphs
  struct Traffic {
    int64_t calls = 0;
    double bytes = 0;  // sent by this rank, by the formulas of docs/layouts.md
  };
  std::map<std::string, Traffic> traffic;           // by axis and collective: "dp.all_reduce"
  std::map<std::string, Ledger::Entry> operations;  // with parts, by name: "linear_forward"

  // Transient memory: gradients of activations, one bucket of weight gradients, scratch of matrix products.
  size_t workspace_bytes() const {
    return peak_bytes - weight_bytes - gradient_bytes - optimizer_bytes - activation_bytes;
  }
  double moved(const std::string& axis) const;  // bytes of all collectives of an axis
};

// Whether the prepared dataset, or without one the job, states the sizes of the vocabularies.
bool can_be_planned(const JobConfig& job);

// Vocabularies of the prepared dataset, or without one those that the job's tokenizers state. ConfigError if neither
// states them.
Vocabularies planned_vocabularies(const JobConfig& job);

// The layouts of `ranks` ranks on which the job can run, those that divide a replica least first; ConfigError if there
// are none.
std::vector<MeshLayout> possible_layouts(const JobConfig& job, int ranks);
// ConfigError if the job cannot run on this layout.
void check_layout(const JobConfig& job, const MeshLayout& layout);

// The target of a plan: a CPU rank with this number of threads, with which some workspaces grow, or a CUDA device.
struct PlannedDevice {
  int threads = 1;
  bool cuda = false;
};

// Plans on `layout`, not on the job's own parallel.tp. Without a prepared dataset a step is made of windows, or of the
// longest pairs that the job allows. ConfigError if the model cannot be divided like this, or for a CUDA device in a
// build without CUDA.
StepPlan plan_step(const JobConfig& job, const MeshLayout& layout, const PlannedDevice& device = {});

}  // namespace weft
