// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/philox.h"
#include "data/batches/batch_plan_pairs.h"

namespace weft::test {

// Lengths like those of sentences: 3 to 40 tokens.
inline PairLengths ragged_lengths(int64_t pairs) {
  PairLengths lengths;
  const Philox draw(77);
  for (uint32_t i = 0; i < pairs; ++i) {
    const auto bits = draw({i, 0, 0, 0});
    lengths.source.push_back(3 + static_cast<int32_t>(bits[0] % 20 + bits[1] % 18));
    lengths.target.push_back(std::max(3, lengths.source.back() + static_cast<int32_t>(bits[2] % 7) - 3));
  }
  return lengths;
}

inline std::vector<int64_t> indices(const PlannedStep& step) {
  std::vector<int64_t> result;
  for (const PlannedSequence& s : step.sequences) result.push_back(s.index);
  return result;
}

inline std::vector<int64_t> epoch_indices(const BatchPlan& plan, int64_t epoch) {
  std::vector<int64_t> result;
  for (int64_t s = 0; s < plan.steps_per_epoch(epoch); ++s) {
    const auto step = indices(plan.step(epoch, s));
    result.insert(result.end(), step.begin(), step.end());
  }
  return result;
}

inline std::vector<int64_t> sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace weft::test
