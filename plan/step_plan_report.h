// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "plan/step_plan.h"

namespace weft {

// What a rank has, as far as it was stated (0: not stated).
struct RankCapacity {
  double memory_gib = 0;
  double teraflops = 0;             // that it reaches
  double gigabytes_per_second = 0;  // between neighbours
};

// Seconds of a step that computes and sends one after the other: an upper bound, since the two overlap. Nothing if a
// speed that it needs was not stated.
std::optional<double> step_seconds(const StepPlan& plan, const RankCapacity& rank);

// A table of layouts, a line each, those that do not fit marked; of a single one also what it sends. One plan or more.
std::string describe(std::span<const StepPlan> plans, const RankCapacity& rank);
// Every figure of each layout, in bytes, FLOPs and seconds; of one.
nlohmann::ordered_json to_json(std::span<const StepPlan> plans, const RankCapacity& rank);
nlohmann::ordered_json to_json(const StepPlan& plan, const RankCapacity& rank);

}  // namespace weft
