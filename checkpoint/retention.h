// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/files.h"

namespace weft {

// What retention must know of a committed checkpoint.
struct KeptCheckpoint {
  int64_t step = 0;
  bool epoch_end = false;
  fs::path path;
};

struct RetentionRule {
  int64_t keep_last = 1;             // the latest so many; at least one is always left
  int64_t keep_epochs = 0;           // besides, the latest so many of an epoch's end
  std::optional<int64_t> best_step;  // besides, this one
  std::vector<int64_t> keep_steps;   // besides, the user's own choice
};

// The checkpoints that the rule does not keep, of `all` in the order in which they were saved.
std::vector<KeptCheckpoint> superseded(const std::vector<KeptCheckpoint>& all, const RetentionRule& rule);

// Deletes them: renamed to .tmp first, so that a kill half-way leaves nothing that looks like a checkpoint. Failures
// are warnings. Directories under any name but step-N are the user's and are never touched. For rank 0 alone, after the
// newest checkpoint is committed.
void apply_retention(const fs::path& directory, const RetentionRule& rule);

// Clears what kills have left: of directories step-N.ATTEMPT.tmp and step-N.tmp, one that has its manifest takes its
// name if that is free; the others are deleted. Failures are warnings. For rank 0 alone, which owns the run directory,
// before the run looks for its checkpoints.
void clear_unfinished(const fs::path& directory);

// Renames what was saved after `checkpoint`, which need not be among them, to step-N.before-ATTEMPT, so that a run that
// goes on from `checkpoint` is not mixed with what followed it then; all, if `checkpoint` lies in another directory.
// Such names are no checkpoints of the run any more: never a candidate, never deleted. Returns the new paths, newest
// first; DataError if one cannot be renamed.
std::vector<fs::path> set_aside_later(const fs::path& directory, const fs::path& checkpoint, int64_t attempt);

}  // namespace weft
