// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "job/job.h"

namespace weft {

// The job that a checkpoint stores as YAML, changed by the overrides "a.b=value". Earlier versions had other
// names for some keys (job/renamed_keys.h) and other forms of some values; both are read with their old meaning.
// ConfigError as for any job; an override with an old name is an error too.
JobConfig parse_stored_job(const std::string& yaml, const std::string& where,
                           const std::vector<std::string>& overrides = {});

}  // namespace weft
