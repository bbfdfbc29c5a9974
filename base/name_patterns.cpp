// SPDX-License-Identifier: Apache-2.0
#include "base/name_patterns.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>

#include "base/error.h"

namespace weft {
namespace {

// Characters that two names share at their beginning and at their end.
size_t likeness(std::string_view a, std::string_view b) {
  const size_t shorter = std::min(a.size(), b.size());
  size_t head = 0, tail = 0;
  while (head < shorter && a[head] == b[head]) ++head;
  while (tail < shorter - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  return head + tail;
}

}  // namespace

bool matches_pattern(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

void require_match(const char* key, const std::string& pattern, const char* what,
                   const std::vector<std::string>& names) {
  if (std::ranges::any_of(names, [&](const std::string& name) { return matches_pattern(pattern, name); })) return;
  constexpr size_t kListed = 5;
  std::vector<std::string> near = names;
  std::ranges::stable_sort(near, std::ranges::greater{}, [&](const std::string& n) { return likeness(n, pattern); });
  near.resize(std::min(near.size(), kListed));
  throw ConfigError(
      fmt::format("{}: '{}' matches no {}", key, pattern, what),
      fmt::format("the nearest of {} are {}; * stands for any text", names.size(), fmt::join(near, ", ")));
}

}  // namespace weft
