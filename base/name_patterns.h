// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Shell patterns over dotted names: * is any text, dots included, ? one character, [0-5] one of a range.
bool matches_pattern(const std::string& pattern, const std::string& name);

// ConfigError unless `pattern`, a value of the job's `key`, matches one of `names`; it lists the nearest of them.
// `what` is the noun for messages: "parameter".
void require_match(const char* key, const std::string& pattern, const char* what,
                   const std::vector<std::string>& names);

}  // namespace weft
