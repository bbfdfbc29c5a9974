#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace weft {

// What only the program that starts a run knows of where it comes from.
struct RunOrigin {
  std::string version = "unknown";     // of weft
  std::string revision = "unknown";    // git describe of the sources, "-dirty" where they were changed
  std::vector<std::string> overrides;  // --set, as given
};

// Stored in every checkpoint and in the run directory, shown by `weft inspect` (U-2.5): origin, host and libraries with
// the versions that they were compiled and are loaded with.
nlohmann::ordered_json provenance(const RunOrigin& origin);

// The same as lines for a reader; "" for null (a checkpoint from before it was stored).
std::string describe_provenance(const nlohmann::ordered_json& provenance);

}  // namespace weft
