// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace weft::test {

// The number of levels: more than a stack has room for frames.
inline constexpr int kDeepest = 400'000;

// This many lists, or objects, within each other.
inline std::string deep_lists(int levels) {
  const auto n = static_cast<size_t>(levels);
  return std::string(n, '[') + std::string(n, ']');
}
inline std::string deep_objects(int levels) {
  std::string text;
  for (int i = 1; i < levels; ++i) text += R"({"a":)";
  return text + "{}" + std::string(static_cast<size_t>(levels) - 1, '}');
}
inline std::vector<std::string> deepest_values() { return {deep_lists(kDeepest), deep_objects(kDeepest)}; }

}  // namespace weft::test
