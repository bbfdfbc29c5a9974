// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/peak_gflops.h"
#include "bench/synthetic_data.h"
#include "parallel/mesh.h"

namespace weft {

struct BenchOptions {
  int64_t warmup = 3;
  int64_t steps = 10;
  bool peak = true;         // also measure the peak that the steps are compared with
  bool operations = false;  // then run as many steps again with every operation timed
};

// The readings of a rank's clocks for one step, in seconds.
struct StepClocks {
  double total = 0;             // from asking the loader to the end of the update
  double data = 0;              // part of `total`: waiting for the loader
  double waited = 0;            // waiting in collectives, on any axis
  double waited_for_world = 0;  // part of `waited`: in collectives of all ranks, the control all-reduce alone
  double update = 0;            // gradient norm and update, without their waits
  // If the host only queues: the device's wait for gradients at the end of its backward, by the device's clock.
  std::optional<double> device_waited;
};

// The parts of one step's time on one rank, in seconds; they add up to `total`.
struct StepParts {
  double total = 0;
  double data = 0;     // waiting for the loader
  double compute = 0;  // forward and backward, with the communication that they hide
  double exposed = 0;  // waiting for other ranks' gradients, activations (tp) and weights: exposed communication; on a
                       // CUDA device for gradients and weights alone, by its own clock
  double control = 0;  // the control all-reduce, in which ranks wait for the slowest rank
  double update = 0;   // gradient norm, clipping, optimizer, bf16 copies of the weights
};

// Counts every wait in one part only; `compute` includes what no clock showed, microseconds of bookkeeping.
StepParts step_parts(const StepClocks& clocks);

struct BenchReport {
  std::string task;
  std::string precision;
  std::string library;    // of matrix products, with its instruction set
  std::string processor;  // the processor's name
  MeshLayout layout;
  int threads = 1;
  int64_t parameters = 0;
  std::string data;
  int64_t vocabulary = 0;  // target vocabulary
  int64_t warmup = 0;
  std::vector<StepParts> steps;        // of rank 0, without the warm-up
  std::vector<int64_t> target_tokens;  // by step, over all ranks
  std::vector<int64_t> rows;           // source and target rows of each step
  std::vector<double> rank_compute;    // by world rank: mean seconds of compute a step
  std::vector<double> rank_exposed;    // by world rank: mean seconds of exposed communication a step
  double model_flops = 0;              // sum over all measured steps
  std::string formula;                 // the formula for model_flops: plan/model_flops.h
  PeakGflops peak;                 // measured; summed over ranks that measure at the same time; gflops 0: not measured
  double stated_gflops = 0;        // by the makers of all ranks' devices; 0: not known
  int64_t peak_tensor_bytes = 0;   // on the rank with the most
  int64_t peak_process_bytes = 0;  // on the rank with the most
  std::map<std::string, Ledger::Entry, std::less<>> operations;  // rank 0, over the steps with every operation timed
  double loss = 0;                                               // in the last step
  int64_t skipped = 0;  // steps without a finite loss: their update did nothing
  // Measured steps that were launched as graphs, and of those the ones that captured theirs first.
  int64_t replayed = 0, captured = 0;

  double seconds() const;            // sum over all measured steps
  double tokens_per_second() const;  // all tokens over all seconds
  double median_seconds() const;
  double median_tokens_per_second() const;  // median over the steps
  double gflops() const;                    // model FLOPs over all seconds
  double utilisation() const;               // MFU: share of the stated rate; 0 if it is not known
  double peak_share() const;                // share of the measured peak; 0 if it was not measured
  StepParts mean() const;
};

// Runs the job's real training steps (loader, TrainingStep, optimizer) on synthetic data, a few to warm up and then
// `steps` measured ones. All ranks call it and get the same report. The learning rate is 1e-5, whatever the job sets.
BenchReport bench_steps(Context& context, Mesh& mesh, const JobConfig& job, const SyntheticData& data,
                        const BenchOptions& options);

// A page of text, and every figure by the name that bench/README.md explains (step_bench_report.cpp).
std::string describe(const BenchReport& report);
nlohmann::ordered_json to_json(const BenchReport& report);

}  // namespace weft
