// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/files.h"
#include "job/job.h"
#include "parallel/communicator.h"
#include "trainer/run/run_lock.h"

namespace weft {

// DataError if nothing can be created where a run directory is to be, which may not exist yet; returns a line about it.
std::string check_run_directory(const fs::path& path);

// The directory that a run writes to, with its job, provenance, metrics and checkpoints. All ranks have the paths; rank
// 0 writes everything but the checkpoints, which all ranks write.
class RunDirectory {
 public:
  RunDirectory(fs::path path, Communicator& world);

  const fs::path& path() const { return path_; }
  const fs::path& checkpoints() const { return checkpoints_; }
  Communicator& world() const { return world_; }

  // Makes this run the only owner of the directory until this object ends, before any of its files is read or cleared.
  // While another run owns it, waits up to `wait_seconds`, during which all ranks stay responsive; then BusyError on
  // every rank names the owner. Collective.
  void take(double wait_seconds);
  // Checks that every rank reads what rank 0 writes here, before hours of work depend on it: the path may name a local
  // disk on each node. A client of NFS may believe for 30 s (acdirmin) that there is no such file, or for as long as
  // its mount says. IoError on every rank names the ranks that do not see it. Requires take(). Collective.
  void require_visible(std::chrono::milliseconds patience = std::chrono::minutes(1)) const;
  // The number of this start of the run, from 0, which every rank has after take().
  int64_t attempt() const { return attempt_; }

  // DataError on every rank if the directory is no longer the one that was taken. Collective.
  void require_ours() const;
  // Makes the directories. Collective; DataError on every rank if rank 0 cannot.
  void create();
  // Writes job.yaml and run.json, and logs where the job differs from the defaults. For rank 0.
  void write_run_files(const JobConfig& job, const std::string& run, const nlohmann::ordered_json& provenance) const;

 private:
  fs::path path_, checkpoints_;
  Communicator& world_;
  std::unique_ptr<RunLock> lock_;  // null on ranks other than 0
  int64_t attempt_ = 0;
};

}  // namespace weft
