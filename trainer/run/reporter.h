// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "base/progress.h"
#include "checkpoint/writer.h"
#include "data/batches/mixture_report.h"
#include "job/job.h"
#include "job/run_state.h"
#include "trainer/run/metrics.h"
#include "trainer/run/milestones.h"
#include "trainer/run/validation.h"
#include "trainer/step/training_step.h"

namespace weft {

// What a run reports: rank 0's lines of metrics.jsonl and of the console, and warnings about ranks that are slow.
// Every rank calls it alike.
class Reporter {
 public:
  Reporter(const JobConfig& job, Context& context, Communicator& world, const RunEnd& end);

  // Metrics are written from here on, beginning with the event "start".
  void begin(const fs::path& directory, const RunState& state, int64_t attempt,
             const nlohmann::ordered_json& provenance);
  // After a step that took `seconds`; `last` if no more follows.
  void stepped(const RunState& state, const StepReport& report, double learning_rate, double seconds, bool last);
  void skipped(const RunState& state, const StepOutcome& outcome, Position at);
  void evaluated(const RunState& state, const ValidationReport& report, bool better);
  // What is mixed, and how often the run has gone through each; nothing for none.
  void sources(const RunState& state, const std::vector<SourceReport>& sources);
  // The run, which diverged at step `from`, goes on from `state`.
  void rolled_back(const RunState& state, int64_t from);
  // `stall_seconds`: that the save kept the run waiting.
  void saved(int64_t step, const SavedCheckpoint& saved, double stall_seconds);
  void save_failed(int64_t step, const DataError& error);
  // Ends the console's line in place, so that something else can be printed.
  void clear() { progress_.clear(); }

 private:
  bool is_rank0() const { return world_.rank() == 0; }
  void write(const char* event, int64_t step, nlohmann::ordered_json fields);
  void write_train_line(const RunState& state, const StepOutcome& outcome, double learning_rate, double seconds_left,
                        const TimesByRank& times);
  nlohmann::ordered_json rank_times(const TimesByRank& times) const;
  void report_stragglers(const TimesByRank& times);
  void notice_lost_console(int64_t step);

  const JobConfig& job_;
  Context& context_;
  Communicator& world_;
  RunEnd end_;
  std::unique_ptr<MetricsLog> metrics_;  // rank 0
  Progress progress_;
  int64_t first_step_ = 0;
  bool console_lost_ = false;
  // Since the last line of metrics.
  struct Window {
    int64_t steps = 0, targets = 0;
    double seconds = 0;
    RankTimes mine;
    double tokens_per_second() const;
  } window_;
  StragglerWatch stragglers_;
};

}  // namespace weft
