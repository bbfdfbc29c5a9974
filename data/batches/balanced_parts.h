// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

// Splits [0, costs.size()) into `parts` lists of ascending indices whose summed costs are near each other: the
// costliest first, each to the cheapest part so far (Graham 1969). The costliest part exceeds the mean by less than
// the largest cost; equal costs give sizes that differ by one at most. Lists may be empty. Costs are not negative.
// Deterministic: among equal costs the lower index comes first, among equal parts the lower one.
std::vector<std::vector<int64_t>> balanced_parts(std::span<const int64_t> costs, int64_t parts);

}  // namespace weft
