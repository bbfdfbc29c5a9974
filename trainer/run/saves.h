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

// Saves the checkpoints of a run: decides when a save is due, copies, commits once every rank has written its part,
// removes old checkpoints and handles failures. At most one save is under way, beside the steps. Every rank makes the
// same calls.
class Saves {
 public:
  // `header`: the content of every checkpoint of the run besides step, state and fingerprint. `state` is the run's; a
  // failed save changes its best step.
  Saves(const JobConfig& job, TrainingSetup& setup, const RunDirectory& directory, Reporter& reporter, RunState& state,
        CheckpointHeader header);

  // Notes the checkpoint that the run resumes from, if any, and its digest: its step needs no save.
  void resumed_from(const std::optional<fs::path>& checkpoint, std::optional<uint64_t> digest);
  // Records in every checkpoint's provenance where the run's first weights came from (Beginning::init_from).
  void begun_from(nlohmann::ordered_json init_from);
  // Records in every checkpoint's provenance where the run was told to begin (Beginning::branch_of), if it was.
  void branched_from(const std::string& name);
  // While a start names the checkpoint, retention keeps it.
  void pin(int64_t step) { pinned_step_ = step; }
  // Called once this run owns the directory and it holds no checkpoint later than the one that the run resumes from.
  // Finds the next place in the order of saves, and forgets a best step whose checkpoint is missing. Allocates the
  // memory of the copies. Starts the clock of checkpoint.every_minutes.
  void begin();
  // Checks that the file system has room for all that retention keeps and one more checkpoint, since an old checkpoint
  // is removed only after its successor is committed. DataError on every rank (on_failure: stop) or a warning.
  void check_space(bool evaluates) const;

  // Whether a save is due by rank 0's clock; always false on other ranks, which have no clock.
  bool due_by_clock() const;
  // This rank's contribution to the step's control all-reduce: the state of the save under way.
  SaveStates states() const { return writer_.states(); }
  // Called after every step with that step's sums: advances the save under way, if any, without waiting for it.
  // `copy_wait_seconds`: how long the step's update waited for the copy. Returns whether the save is committed now.
  bool stepped(const SaveStates& sums, double copy_wait_seconds);

  // Begins a save, after waiting for the save under way. Does nothing if this step is saved already.
  void start();
  // Waits until the save under way, if any, is committed. `last`: the run ends with it, so a failure of the save ends
  // the run whatever checkpoint.on_failure says.
  void commit(bool last = false);
  const CheckpointHeader& header() const { return header_; }
  const std::optional<fs::path>& last_checkpoint() const { return last_checkpoint_; }

 private:
  CheckpointHeader header_now() const;
  std::function<void()> after_commit() const;
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
  std::optional<int64_t> pinned_step_;
  std::optional<fs::path> last_checkpoint_;
  std::chrono::steady_clock::time_point last_save_;
  struct Best {
    int64_t step = -1;  // -1: no evaluation yet
    double loss = std::numeric_limits<double>::infinity();
    std::optional<double> score;
  };
  Best best_now() const;
  Best committed_best_;  // the best step with a checkpoint: retention keeps it until a better step is committed
  struct UnderWay {
    int64_t step = 0;
    Best best;         // the best that the checkpoint's state names
    double stall = 0;  // seconds that the run has waited for this save
  } under_way_;
};

}  // namespace weft
