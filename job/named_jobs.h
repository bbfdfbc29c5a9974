// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "job/job.h"

namespace weft {

// A job that is measured under a name, without a job file or data.
struct BenchJob {
  std::string name;
  std::string meaning;
  JobConfig job;
  int64_t vocabulary = 0;  // equal for both sides
};

const std::vector<BenchJob>& bench_jobs();

// One line per job, for a command's help.
std::string describe_bench_jobs();

// The job of a file, or that of a named model, whose tokenizer section states its vocabulary; changed by `overrides`.
// ConfigError unless exactly one of `path` and `model` is given.
JobConfig job_or_model(const std::string& path, const std::string& model, const std::vector<std::string>& overrides);

// Throws ConfigError, which lists the names, if there is no such job.
const BenchJob& find_bench_job(const std::string& name);

}  // namespace weft
