// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "checkpoint/run_state.h"
#include "checkpoint/writer.h"
#include "data/batches/mixture_report.h"
#include "generate/generations.h"
#include "job/job.h"
#include "trainer/run/logs/event_file.h"
#include "trainer/run/logs/metrics.h"
#include "trainer/run/milestones.h"
#include "trainer/run/validation.h"
#include "trainer/step/training_step.h"

namespace weft {

// Writes rank 0's lines of metrics.jsonl, of TensorBoard's file and of the console, and reports ranks that are slower
// than the others. Every rank makes the same calls.
class Reporter {
 public:
  // `parameters`: of the whole model.
  Reporter(const JobConfig& job, int64_t parameters, Context& context, Communicator& world, const RunEnd& end);

  // Opens metrics.jsonl and writes the event "start".
  void begin(const fs::path& directory, const RunState& state, int64_t attempt,
             const nlohmann::ordered_json& provenance);
  // Reports a step that took `seconds`. `last`: no step follows it.
  void stepped(const RunState& state, const StepReport& report, double learning_rate, double seconds, bool last);
  void skipped(const RunState& state, const StepOutcome& outcome, Position at);
  // Reports that a step was computed in part again, to look for changed bits, and found to be sound.
  void checked(int64_t step, double seconds);
  void evaluated(const RunState& state, const ValidationReport& report, bool better);
  void generated(const RunState& state, const Generation& generation);
  // Ends the texts of one step.
  void generated_all(const RunState& state);
  // Reports how often the run has gone through each dataset of a mixture. No lines if there is no mixture.
  void sources(const RunState& state, const std::vector<SourceReport>& sources);
  // Reports that the run diverged at step `from` and continues from `state`.
  void rolled_back(const RunState& state, int64_t from);
  // `stall_seconds`: how long the save has kept the run waiting.
  void saved(int64_t step, const SavedCheckpoint& saved, double stall_seconds);
  void save_failed(int64_t step, const DataError& error);
  // `fields`: what StepTrace says of the steps that end with this one.
  void traced(int64_t step, const nlohmann::ordered_json& fields);
  // Ends the line that the console rewrites in place, so that another one can be printed.
  void clear() { progress_.clear(); }
  // Calls `work` on rank 0, on a thread of its own, once the lines so far are written. It must be quick, and not throw.
  void then(const std::function<void()>& work);
  // Waits until all lines of metrics.jsonl are written.
  void finish();

 private:
  bool is_rank0() const { return world_.rank() == 0; }
  void write(const char* event, int64_t step, const nlohmann::ordered_json& fields);
  void write_train_line(const RunState& state, const StepOutcome& outcome, double learning_rate, double seconds_left,
                        const TimesByRank& times);
  nlohmann::ordered_json rank_times(const TimesByRank& times) const;
  void report_stragglers(const TimesByRank& times);
  void notice_lost_console(int64_t step);

  const JobConfig& job_;
  Context& context_;
  Communicator& world_;
  RunEnd end_;
  double flops_per_token_;               // plan/model_flops.h; 0: not counted
  double stated_flops_;                  // FLOP/s of all ranks' devices, as their maker states; 0: not known
  std::unique_ptr<MetricsLog> metrics_;  // null on ranks other than 0
  std::unique_ptr<EventFile> events_;    // with log.tensorboard
  std::vector<Generation> generations_;  // of this step so far
  Progress progress_;
  Pace steps_, tokens_;      // of wall time; of the seconds of steps alone
  double step_seconds_ = 0;  // of all steps of this attempt
  bool console_lost_ = false;
  // The steps since the last line of metrics.
  struct Window {
    int64_t steps = 0, targets = 0, tokens = 0, padding = 0, replayed = 0;
    double seconds = 0;
    RankTimes mine;
    double tokens_per_second() const;
  } window_;
  StragglerWatch stragglers_;
};

}  // namespace weft
