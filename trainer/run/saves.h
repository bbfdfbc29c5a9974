// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <limits>
#include <optional>

#include "checkpoint/writer.h"
#include "trainer/run/reporter.h"
#include "trainer/run/run_directory.h"
#include "trainer/step/training_setup.h"

namespace weft {

// The checkpoints of a run: when one is due, its copy, its commit once every rank has written its part, which old ones
// go, and what a failure leads to. One save is under way at a time, beside the steps. Every rank calls everything
// alike.
class Saves {
 public:
  // `header`: what every checkpoint of the run holds besides step, state and fingerprint. `state` is the run's; a save
  // that fails changes what it calls the best step.
  Saves(const JobConfig& job, TrainingSetup& setup, const RunDirectory& directory, Reporter& reporter, RunState& state,
        CheckpointHeader header);

  // The checkpoint that the run goes on from, if any: its step needs no save.
  void resumed_from(const std::optional<fs::path>& checkpoint);
  // Where the run's first weights came from (Beginning::init_from): every checkpoint's provenance says it.
  void begun_from(nlohmann::ordered_json init_from);
  // Once the directory is this run's and its checkpoints are those that it goes on from: finds the place in the order
  // of saves, and forgets a best step whose checkpoint is not there. Takes the memory of the copies. Starts the time of
  // checkpoint.every_minutes.
  void begin();
  // Room for all that retention keeps, and one more, since the old goes only once the new is there. DataError on every
  // rank (on_failure: stop) or a warning.
  void check_space(bool evaluates) const;

  // By the clock of this rank; rank 0's decides.
  bool due_by_clock() const;
  // Of the save under way: what this rank brings to the step's control all-reduce.
  SaveStates states() const { return writer_.states(); }
  // After every step, with the sums of that: goes on with the save under way, if any, without waiting for it.
  // `copy_wait_seconds`: that the step's update waited for its copy. Returns whether it is committed now.
  bool stepped(const SaveStates& sums, double copy_wait_seconds);

  // Begins a save; waits for one that is under way first. Nothing if this step is saved already.
  void start();
  // Waits until the save under way, if any, is committed. `last`: the run ends with it, so its failure is the run's
  // (see checkpoint.on_failure).
  void commit(bool last = false);
  const CheckpointHeader& header() const { return header_; }
  const std::optional<fs::path>& last_checkpoint() const { return last_checkpoint_; }

 private:
  CheckpointHeader header_now() const;
  std::function<void()> retention() const;
  void committed(const SavedCheckpoint& saved);
  void failed(const DataError& error, bool last);
  void return_to_committed_best();

  const JobConfig& job_;
  TrainingSetup& setup_;
  const RunDirectory& directory_;
  Reporter& reporter_;
  RunState& state_;
  CheckpointHeader header_;
  CheckpointWriter writer_;
  int64_t saved_step_ = -1;
  std::optional<fs::path> last_checkpoint_;
  std::chrono::steady_clock::time_point last_save_;
  struct Best {
    int64_t step = -1;  // -1: none
    double loss = std::numeric_limits<double>::infinity();
    std::optional<double> score;
  };
  Best best_now() const;
  Best committed_best_;  // the best step whose checkpoint is there: retention keeps it until a better one is committed
  struct UnderWay {
    int64_t step = 0;
    Best best;         // as the checkpoint says
    double stall = 0;  // seconds that it has kept the run waiting
  } under_way_;
};

}  // namespace weft
