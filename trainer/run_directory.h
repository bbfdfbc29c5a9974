#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/files.h"
#include "job/job.h"
#include "parallel/communicator.h"

namespace weft {

// Where a run writes: its job, where it comes from, its metrics, and its checkpoints. All ranks know the paths; rank 0
// writes what is not a checkpoint.
class RunDirectory {
 public:
  RunDirectory(fs::path path, Communicator& world);

  const fs::path& path() const { return path_; }
  const fs::path& checkpoints() const { return checkpoints_; }
  Communicator& world() const { return world_; }

  // Makes the directories. Collective; DataError on every rank if rank 0 cannot.
  void create();
  // job.yaml and run.json; the log tells where the job differs from the defaults. For rank 0.
  void write_run_files(const JobConfig& job, const std::string& run, int64_t attempt,
                       const nlohmann::ordered_json& provenance) const;

 private:
  fs::path path_, checkpoints_;
  Communicator& world_;
};

}  // namespace weft
