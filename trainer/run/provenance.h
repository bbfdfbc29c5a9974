// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/dataset/dataset.h"
#include "job/job.h"
#include "parallel/mesh.h"

namespace weft {

// The part of a run's provenance that only the program that starts the run can supply.
struct RunOrigin {
  std::string version = "unknown";     // weft's version
  std::string revision = "unknown";    // git describe of the sources, "-dirty" if they were changed
  std::vector<std::string> overrides;  // --set, as given
};

// The provenance of a run: origin, dataset, host, and each library's version at compile time and as loaded. It is
// stored in every checkpoint and in the run directory, and `weft inspect` shows it.
nlohmann::ordered_json run_provenance(const RunOrigin& origin, const Dataset& train);

// Everything that two runs must share to be bit-identical (docs/determinism.md).
nlohmann::ordered_json numerics_fingerprint(const JobConfig& job, const Mesh& mesh, const Context& context);

// The differences between the numerics of two runs, by name: "threads: 1, now 2; attention: not stored, now blocks
// ...".
// "" if the fingerprints are equal. Earlier versions stored fewer names; the others then count as "not stored".
std::string fingerprint_differences(const nlohmann::ordered_json& before, const nlohmann::ordered_json& now);

// Provenance as lines of text; "" for null, which checkpoints of early versions have.
std::string describe_provenance(const nlohmann::ordered_json& provenance);

// What provenance calls a checkpoint at which a run was told to begin: its path, without links.
std::string branch_name(const fs::path& checkpoint);
// That name in a checkpoint's provenance; "" if the run began otherwise.
std::string branch_of(const nlohmann::ordered_json& provenance);

}  // namespace weft
