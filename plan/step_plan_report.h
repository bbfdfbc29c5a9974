// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "plan/step_plan.h"

namespace weft {

// The capacity of a rank, as far as it was stated (0: not stated).
struct RankCapacity {
  double memory_gib = 0;
  double teraflops = 0;             // that the rank reaches
  double gigabytes_per_second = 0;  // between neighbouring ranks
};

// Seconds of a step that computes and sends one after the other: an upper bound, since the two overlap. nullopt if a
// required speed was not stated.
std::optional<double> step_seconds(const StepPlan& plan, const RankCapacity& rank);

// A table with a line per layout, in which those that do not fit are marked; for a single plan also its traffic.
std::string describe(std::span<const StepPlan> plans, const RankCapacity& rank);
// Every figure of each layout, or of one layout, in bytes, FLOPs and seconds.
nlohmann::ordered_json to_json(std::span<const StepPlan> plans, const RankCapacity& rank);
nlohmann::ordered_json to_json(const StepPlan& plan, const RankCapacity& rank);

}  // namespace weft
