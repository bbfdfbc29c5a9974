// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "checkpoint/reader.h"
#include "checkpoint/run_state.h"
#include "job/changes.h"
#include "trainer/run/milestones.h"
#include "trainer/run/run_directory.h"
#include "trainer/step/training_setup.h"

namespace weft {

// Where a run begins: from the latest valid checkpoint of its directory if it has saved one (Auto), the same but only
// if the run has begun before (Must), always from scratch (Never), or from a given checkpoint (Path): from the newest
// that this run has saved since it began there, if there is one; or from that checkpoint whatever was saved since
// (Exactly); or from scratch whatever was saved (Scratch).
struct ResumeChoice {
  enum class Kind : uint8_t { Auto, Must, Never, Path, Exactly, Scratch } kind = Kind::Auto;
  fs::path path;
};

// How a run begins: its state, and the checkpoint, if any, that the state and the weights come from.
struct Beginning {
  RunState state;
  std::optional<fs::path> checkpoint;
  std::optional<uint64_t> digest;  // the checkpoint's, if it has one
  // The checkpoint at which the run was told to begin, by branch_name(), if `checkpoint` was saved after it.
  std::string branch_of;
  std::vector<fs::path> passed_over;  // newer checkpoints that are damaged
  // The source of the run's first weights: path, checkpoint, run and step. Null: the weights were drawn.
  nlohmann::ordered_json init_from;
};

// Begins a run: finds the checkpoint to resume from, checks that it fits the job and the dataset, and fills the weights
// and moments of `setup`, or else initialises them. All ranks do this together: rank 0 lists the checkpoints, each rank
// compares the checksums of what it reads, and all ranks skip a checkpoint that is damaged for any rank.
class Resume {
 public:
  Resume(const JobConfig& job, const TrainingData& data, TrainingSetup& setup, const RunDirectory& directory,
         const RunEnd& end);
  // Throws ConfigError or DataError, the same on every rank, without changing anything in the run directory.
  Beginning begin(const ResumeChoice& choice);

 private:
  // Throws DataError if the dataset of any rank holds another training or validation text than rank 0's. Collective.
  void require_same_text() const;
  void require_same_text(const char* name, const Dataset* split) const;  // of one split, null if this rank lacks it
  std::vector<fs::path> candidates(const ResumeChoice& choice);
  Beginning restore(const fs::path& path);
  void require_intact(const std::function<void()>& read) const;
  Beginning start_from_scratch();
  nlohmann::ordered_json load_initial_weights();
  void check_dataset(const Checkpoint& checkpoint) const;
  // Throws ConfigError if `part` holds a text other than the `stored` one, unless `allow_changes` names its key.
  void check_text(const Checkpoint& checkpoint, const char* key, const DatasetPart& part,
                  const nlohmann::ordered_json& stored) const;
  void take_algorithms(const Checkpoint& checkpoint) const;
  // Logs how the run's numerics differ from the checkpoint's. ConfigError if they do though both promise the same bits.
  void compare_numerics(const Checkpoint& checkpoint, const JobConfig& before) const;
  Position position_now(const JobConfig& before, Position position) const;
  // Sets what this run's evaluations measure; returns how it differs from what those of the checkpoint did, "" if not.
  std::string take_evaluation(RunState& state) const;
  void log_learning_rate_change(const RunState& state, bool allowed) const;
  std::function<void()> note_progress() const;

  const JobConfig& job_;
  const TrainingData& data_;
  TrainingSetup& setup_;
  const RunDirectory& directory_;
  RunEnd end_;
};

}  // namespace weft
