// SPDX-License-Identifier: Apache-2.0
#include "job/optimizer_config.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/config/writer.h"

namespace weft {
namespace {

constexpr auto& kKinds = EnumNames<OptimizerKind>::kNames;

bool reads(OptimizerKind kind, std::string_view key) {
  return std::ranges::find(kOptimizerKeys[kind], key) != kOptimizerKeys[kind].end();
}

// Hints name the first key of a kind.
static_assert(std::ranges::none_of(kKinds, [](const auto& named) { return kOptimizerKeys[named.second].empty(); }));

}  // namespace

std::vector<std::string> optimizer_problems(const OptimizerConfig& optimizer) {
  std::vector<std::string> problems;
  for (const ConfigChange& set : config_changes(OptimizerConfig{}, optimizer)) {
    const bool of_a_kind = std::ranges::any_of(kKinds, [&](const auto& named) { return reads(named.second, set.key); });
    if (!of_a_kind || reads(optimizer.kind, set.key)) continue;
    problems.push_back(fmt::format("optimizer.{}: it has no effect with {}; remove it, or set {}", set.key,
                                   enum_name(optimizer.kind), kOptimizerKeys[optimizer.kind].front()));
  }
  return problems;
}

}  // namespace weft
