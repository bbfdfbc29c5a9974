// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "parallel/parameters/parameter.h"

namespace weft {

// The parameters whose names match one of the patterns (base/name_patterns.h), in order of declaration. ConfigError
// naming the job's `key` if a pattern matches none.
std::vector<const Parameter*> matching_parameters(const ParameterRegistry& registry,
                                                  const std::vector<std::string>& patterns, const char* key);

}  // namespace weft
