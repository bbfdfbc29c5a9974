// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/parameter_patterns.h"

#include <algorithm>

#include "base/name_patterns.h"

namespace weft {

std::vector<const Parameter*> matching_parameters(const ParameterRegistry& registry,
                                                  const std::vector<std::string>& patterns, const char* key) {
  std::vector<std::string> names;
  for (const auto& p : registry.parameters()) names.push_back(p->spec().name);
  for (const std::string& pattern : patterns) require_match(key, pattern, "parameter", names);
  std::vector<const Parameter*> matching;
  for (const auto& p : registry.parameters()) {
    const auto matches = [&](const std::string& pattern) { return matches_pattern(pattern, p->spec().name); };
    if (std::ranges::any_of(patterns, matches)) matching.push_back(p.get());
  }
  return matching;
}

}  // namespace weft
