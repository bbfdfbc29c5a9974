// SPDX-License-Identifier: Apache-2.0
#include "data/batches/mixture.h"

#include <fmt/core.h>

#include <cmath>
#include <functional>
#include <queue>
#include <utility>

#include "base/error.h"
#include "data/batches/permutation.h"

namespace weft {
namespace {

double sum_of_weights(std::span<const MixturePart> parts) {
  double sum = 0;
  for (const MixturePart& part : parts) {
    require<ConfigError>(part.weight > 0 && std::isfinite(part.weight),
                         "data.mixture: a weight of {}; it must be above 0", part.weight);
    sum += part.weight;
  }
  return sum;
}

// How many of the first `slots` of `all` go to the child that takes `taken` of them; rounded, so all go by the end.
int64_t dealt(int64_t slots, int64_t taken, int64_t all) {
  return static_cast<int64_t>((static_cast<__int128>(slots) * taken + all / 2) / all);
}

}  // namespace

// The borders between the parts' shares are rounded, so that the shares add up to exactly all records.
MixtureOrder::MixtureOrder(std::span<const MixturePart> parts) {
  const double weights = sum_of_weights(parts);
  int64_t records = 0;
  for (const MixturePart& part : parts) {
    require<DataError>(part.records > 0, "dataset {} of {} that are mixed has no records", sizes_.size() + 1,
                       parts.size());
    sizes_.push_back(part.records);
    records += part.records;
  }
  double before = 0;
  int64_t begin = 0;
  for (const MixturePart& part : parts) {
    before += part.weight;
    const int64_t end = std::llround(before / weights * static_cast<double>(records));
    nodes_.push_back({.taken = end - std::exchange(begin, end)});
    if (nodes_.back().taken > 0) continue;
    throw ConfigError(fmt::format("data.mixture: a weight of {} among {} gives none of the {} records of an epoch",
                                  part.weight, weights, records),
                      "raise it, or leave the dataset out");
  }
  using Entry = std::pair<int64_t, size_t>;  // taken, node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> least;
  for (size_t i = 0; i < nodes_.size(); ++i) least.push({nodes_[i].taken, i});
  const auto take = [&] {
    const size_t node = least.top().second;
    least.pop();
    return node;
  };
  while (least.size() > 1) {
    const size_t left = take(), right = take();
    nodes_.push_back({.taken = nodes_[left].taken + nodes_[right].taken, .left = left, .right = right});
    least.push({nodes_.back().taken, nodes_.size() - 1});
  }
}

MixtureOrder::Draw MixtureOrder::at(int64_t epoch, int64_t slot) const {
  size_t node = nodes_.size() - 1;
  while (node >= parts()) {
    const auto [all, left, right] = nodes_[node];
    const int64_t before = dealt(slot, nodes_[left].taken, all);
    const bool goes_left = dealt(slot + 1, nodes_[left].taken, all) > before;
    slot = goes_left ? before : slot - before;
    node = goes_left ? left : right;
  }
  const int64_t number = epoch * taken(node) + slot;
  return {.part = node, .epoch = number / sizes_[node], .place = number % sizes_[node]};
}

std::string MixtureOrder::text() const {
  return parts() == 1 ? "" : fmt::format(" of {} datasets mixed by weight", parts());
}

double MixtureOrder::epochs_of(size_t part, double epochs) const {
  return epochs * static_cast<double>(taken(part)) / static_cast<double>(sizes_[part]);
}

uint64_t seed_of_part(uint64_t seed, size_t part) {
  return part == 0 ? seed : derive_key(seed, DataStream::MixturePart, static_cast<int64_t>(part));
}

}  // namespace weft
