// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "job/job.h"
#include "parallel/mesh.h"

namespace weft {

// The part of a run that is trained again.
struct Segment {
  std::string from;           // a step that was saved, a checkpoint's directory, or "0": from scratch. "": the oldest
                              // checkpoint that is there, or from scratch
  std::optional<int64_t> to;  // the last step that is compared; by default the last that was saved
};

// Trains a segment of the run in job.run_directory() again, without writing anything there, and compares the digest of
// the state with that of every save in it. Prints a line for each save that is equal; for the first that is not, what
// differs, and ends there with ExitCode::Differs. `job` is the run's, with which `mesh` was made. ConfigError, before
// anything is trained, if equal digests cannot be expected or there is nothing to compare. Collective.
ExitCode verify_run(Context& context, Mesh& mesh, const JobConfig& job, const Segment& segment);

}  // namespace weft
