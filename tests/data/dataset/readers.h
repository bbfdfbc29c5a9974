// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "data/dataset/dataset.h"
#include "tests/data/dataset/fixture.h"

namespace weft::test {

inline Ids tokens(const Dataset& dataset, int64_t first, int64_t count) {
  Ids ids(static_cast<size_t>(count));
  dataset.read_tokens(first, ids);
  return ids;
}

inline IdPairs read_pairs(const Dataset& dataset) {
  IdPairs pairs;
  for (int64_t i = 0; i < dataset.num_pairs(); ++i) {
    auto& [source, target] = pairs.emplace_back();
    source.resize(static_cast<size_t>(dataset.source_length(i)));
    dataset.read_source(i, source);
    target.resize(static_cast<size_t>(dataset.target_length(i)));
    dataset.read_target(i, target);
  }
  return pairs;
}

// The ids first, first + step and so on.
inline Ids range(int32_t first, int32_t count, int32_t step = 1) {
  Ids ids(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) ids[static_cast<size_t>(i)] = first + i * step;
  return ids;
}

}  // namespace weft::test
