// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "job/job.h"
#include "kernels/ledger.h"
#include "kernels/ops/weight_format.h"
#include "parallel/mesh.h"

namespace weft {

struct DecodeBenchOptions {
  int64_t new_tokens = 128;  // tokens generated for each text
  int64_t prompt = 32;       // tokens of each prompt
  int64_t batch = 1;         // texts at once
  int64_t beam = 1;          // hypotheses per text; 1: greedy search
  WeightFormat weights = WeightFormat::Own;
  int64_t repeats = 3;      // measured runs, after one to warm up
  bool bandwidth = true;    // also measure the machine's read bandwidth
  bool operations = false;  // then do one more run with every operation timed
};

struct DecodeReport {
  std::string precision, weights, library, processor;
  int threads = 1;
  int64_t parameters = 0;
  DecodeBenchOptions options;
  std::vector<double> seconds;  // one per run, for prompts and all new tokens
  size_t weight_bytes = 0;      // packed weights, which are read once for every position
  double read_bandwidth = 0;    // bytes a second (bench/read_bandwidth.h); 0: not measured
  std::map<std::string, Ledger::Entry, std::less<>> operations;

  double median_seconds() const;
  double tokens_per_second() const;  // new tokens of all texts over the median run
  // Weights x positions over the median run, as a share of the read bandwidth. The time includes prompts, sums, search
  // and everything else; the bytes are those of the weights alone. 0 if the bandwidth was not measured.
  double bandwidth_share() const;
};

// Generates texts of exactly `new_tokens` tokens with a model of the job's shapes and random weights, on one rank.
DecodeReport bench_decoding(Context& context, Mesh& mesh, const JobConfig& job, int64_t vocabulary,
                            const DecodeBenchOptions& options);

std::string describe(const DecodeReport& report);
nlohmann::ordered_json to_json(const DecodeReport& report);

}  // namespace weft
