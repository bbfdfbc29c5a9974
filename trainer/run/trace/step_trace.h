// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/process/task_thread.h"
#include "job/job.h"
#include "parallel/clock_offset.h"
#include "parallel/mesh.h"
#include "trainer/run/reporter.h"
#include "trainer/run/run_directory.h"

namespace weft {

// train.trace: what every rank does during a stretch of steps, as one file DIR/trace-FIRST-LAST.json, and as the event
// `trace` of metrics.jsonl, which says where the time went. Every rank makes the same calls.
class StepTrace {
 public:
  // Of more ranks than these, the file has the first and the slowest.
  static constexpr int kMostRanks = 64;

  StepTrace(const JobConfig& job, Context& context, Mesh& mesh, const RunDirectory& directory, Reporter& reporter);

  // Before and after a step, which is counted from 1. Collective where the stretch begins and ends.
  void before(int64_t step);
  void after(int64_t step);
  // Ends a stretch that the run's end or a rollback has cut short; without a whole step nothing is kept. Collective.
  void end();
  // Waits until the file is written.
  void finish() { writing_.finish(); }

 private:
  void gather(const Trace::Record& record);
  void keep(const std::vector<std::string>& texts);

  Context& context_;
  Mesh& mesh_;
  Communicator& world_;
  const RunDirectory& directory_;
  Reporter& reporter_;
  std::string job_;
  int64_t first_ = 0, last_ = -1;  // of the job; this is no step
  int64_t began_ = 0, done_ = 0;   // the first and the latest whole step of the stretch under way; 0: none
  ClockOffset offset_;
  TaskThread writing_;
};

}  // namespace weft
