// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/files.h"
#include "job/job.h"
#include "parallel/communicator.h"
#include "trainer/run/run_lock.h"

namespace weft {

// Where a run writes: its job, where it comes from, its metrics, and its checkpoints. All ranks know the paths; rank 0
// writes what is not a checkpoint.
class RunDirectory {
 public:
  RunDirectory(fs::path path, Communicator& world);

  const fs::path& path() const { return path_; }
  const fs::path& checkpoints() const { return checkpoints_; }
  Communicator& world() const { return world_; }

  // Makes this run the directory's only owner until this object ends, before anything in it is read or cleared. While
  // another run owns it, waits for up to `wait_seconds`, all ranks with signs of life; then BusyError on every rank,
  // which names the owner. Collective.
  void take(double wait_seconds);
  // That every rank reads what rank 0 writes there, before hours of work hang on it: a path may be a disk of each
  // node's own. Otherwise DataError on every rank, which names those that do not see it. Once it is taken. Collective.
  void require_visible() const;
  // Of the run in this directory, from 0: known to every rank once the directory is taken.
  int64_t attempt() const { return attempt_; }

  // Makes the directories. Collective; DataError on every rank if rank 0 cannot.
  void create();
  // job.yaml and run.json; logs where the job differs from the defaults. For rank 0.
  void write_run_files(const JobConfig& job, const std::string& run, const nlohmann::ordered_json& provenance) const;

 private:
  fs::path path_, checkpoints_;
  Communicator& world_;
  std::unique_ptr<RunLock> lock_;  // rank 0
  int64_t attempt_ = 0;
};

}  // namespace weft
