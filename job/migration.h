#pragma once
#include <string>
#include <vector>

#include "job/job.h"

namespace weft {

// The job that a checkpoint stores, YAML, then the overrides "a.b=value". Earlier builds wrote some values in another
// form; they are read as what they meant. ConfigError as for any job.
JobConfig parse_stored_job(const std::string& yaml, const std::string& where,
                           const std::vector<std::string>& overrides = {});

}  // namespace weft
