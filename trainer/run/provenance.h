// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/dataset/dataset.h"
#include "job/job.h"
#include "parallel/mesh.h"

namespace weft {

// What only the program that starts a run knows of where it comes from.
struct RunOrigin {
  std::string version = "unknown";     // of weft
  std::string revision = "unknown";    // git describe of the sources, "-dirty" if they were changed
  std::vector<std::string> overrides;  // --set, as given
};

// Where a run comes from: origin, dataset, host, and libraries with the versions that they were compiled and are loaded
// with. Stored in every checkpoint and in the run directory, shown by `weft inspect`.
nlohmann::ordered_json run_provenance(const RunOrigin& origin, const Dataset& train);

// What two runs must share to be bit-identical (docs/determinism.md).
nlohmann::ordered_json numerics_fingerprint(const JobConfig& job, const Mesh& mesh, const Context& context);

// What differs between the numerics of two runs, by name: "threads: 1, now 2; attention: not stored, now blocks ...".
// "" if they share all of it. Earlier versions stored fewer names.
std::string fingerprint_differences(const nlohmann::ordered_json& before, const nlohmann::ordered_json& now);

// Provenance as lines for a reader; "" for null (a checkpoint from before it was stored).
std::string describe_provenance(const nlohmann::ordered_json& provenance);

}  // namespace weft
