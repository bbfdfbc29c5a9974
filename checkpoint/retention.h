// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/files.h"

namespace weft {

// A committed checkpoint, as retention sees it.
struct KeptCheckpoint {
  int64_t step = 0;
  bool epoch_end = false;
  bool healthy = true;  // its last step had a finite loss and gradient: a run that diverges can go back to it
  fs::path path;
};

struct RetentionRule {
  int64_t keep_last = 1;             // number of latest checkpoints that are kept; at least 1
  int64_t keep_epochs = 0;           // number of latest epoch ends that are kept too
  std::optional<int64_t> best_step;  // step of the best checkpoint, which is kept too
  std::vector<int64_t> keep_steps;   // steps that the user keeps too
};

// The checkpoints of `all`, which are in the order of saves, that the rule does not keep. It always keeps the latest
// healthy one.
std::vector<KeptCheckpoint> superseded(const std::vector<KeptCheckpoint>& all, const RetentionRule& rule);

// Deletes the superseded checkpoints of a directory. Each is renamed to .tmp first, so that a kill half-way leaves
// nothing that looks like a checkpoint. Failures are warnings. Directories under any name but step-N are the user's and
// are never touched. For rank 0 alone, after the newest checkpoint is committed.
void apply_retention(const fs::path& directory, const RetentionRule& rule);

// Clears what kills have left: a directory step-N.ATTEMPT.tmp or step-N.tmp that has its manifest takes the name step-N
// if that is free; the others are deleted. Failures are warnings. For rank 0 alone, which owns the run directory,
// before the run looks for its checkpoints.
void clear_unfinished(const fs::path& directory);

// Whether the checkpoint is one of the directory's: by its name, which may be a link to a place elsewhere, or by where
// it leads.
bool lies_in(const fs::path& checkpoint, const fs::path& directory);

// Renames the checkpoints that were saved after `checkpoint` to step-N.before-NUMBER, so that a run that resumes from
// `checkpoint` is not mixed with later checkpoints; all of them if `checkpoint` lies in another directory. NUMBER
// is `attempt`, or higher if that would rename over checkpoints that were set aside before. Checkpoints that are set
// aside no longer belong to the run: it neither resumes from them nor deletes them. Returns the new paths, newest
// first; DataError if one cannot be renamed.
std::vector<fs::path> set_aside_later(const fs::path& directory, const fs::path& checkpoint, int64_t attempt);

// Renames checkpoints of the directory that a run has passed over as damaged to step-N.damaged-NUMBER: neither does
// retention count them, nor does the next start read them again. Returns the new paths; DataError as above.
std::vector<fs::path> set_aside_damaged(const fs::path& directory, const std::vector<fs::path>& checkpoints,
                                        int64_t attempt);

}  // namespace weft
