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
  bool peak = true;         // also measure the peak that the steps are held to
  bool operations = false;  // afterwards, as many steps again with every operation timed
};

// What a rank's clocks showed of one step, in seconds.
struct StepClocks {
  double total = 0;             // from asking the loader to the end of the update
  double data = 0;              // of it, waiting for the loader
  double waited = 0;            // in collectives, on any axis
  double waited_for_world = 0;  // of it, in those of all ranks together: the control all-reduce alone
  double update = 0;            // gradient norm and update, without what they waited
  // Where the host only queues: what the device waited by its own clock for gradients at the end of its backward.
  std::optional<double> device_waited;
};

// The parts of one step's time on one rank, in seconds; they add up to `total`.
struct StepParts {
  double total = 0;
  double data = 0;     // waiting for the loader
  double compute = 0;  // forward and backward; what is communicated meanwhile is hidden in it
  double exposed = 0;  // waiting for other ranks' gradients, activations (tp) and weights: exposed communication; on a
                       // CUDA device for gradients alone, by its own clock
  double control = 0;  // the control all-reduce: the slowest rank is waited for here
  double update = 0;   // gradient norm, clipping, optimizer, bf16 copies of the weights
};

// Every wait in one part alone; what no clock showed, microseconds of bookkeeping, is in `compute`.
StepParts step_parts(const StepClocks& clocks);

struct BenchReport {
  std::string task;
  std::string precision;
  std::string library;    // of matrix products, with the instruction set
  std::string processor;  // its name
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
  std::string formula;                 // by which: plan/model_flops.h
  PeakGflops peak;                 // measured; summed over ranks that measure at the same time; gflops 0: not measured
  double stated_gflops = 0;        // by the maker, of all ranks' devices; 0: not known
  int64_t peak_tensor_bytes = 0;   // of the rank with most
  int64_t peak_process_bytes = 0;  // of the rank with most
  std::map<std::string, Ledger::Entry, std::less<>> operations;  // rank 0, over the steps with every operation timed
  double loss = 0;                                               // the last step's
  int64_t skipped = 0;  // steps without a finite loss: their update did nothing

  double seconds() const;            // sum over all measured steps
  double tokens_per_second() const;  // all tokens over all seconds
  double median_seconds() const;
  double median_tokens_per_second() const;  // median over the steps
  double gflops() const;                    // model FLOPs over all seconds
  double utilisation() const;               // MFU: of the stated rate; 0 if that is not known
  double peak_share() const;                // of the measured peak; 0 if it was not measured
  StepParts mean() const;
};

// The job's real training steps (loader, TrainingStep, optimizer) on synthetic data, a few to warm up and then
// `steps` measured ones. All ranks call it and get the same report. The learning rate is 1e-5, whatever the job says.
BenchReport bench_steps(Context& context, Mesh& mesh, const JobConfig& job, const SyntheticData& data,
                        const BenchOptions& options);

// A page for people, and every figure by the names that bench/README.md explains (step_bench_report.cpp).
std::string describe(const BenchReport& report);
nlohmann::ordered_json to_json(const BenchReport& report);

}  // namespace weft
