// SPDX-License-Identifier: Apache-2.0
#include "data/batches/batch_plan_slice.h"

#include <algorithm>
#include <numeric>

#include "base/divide_up.h"
#include "base/error.h"
#include "data/batches/balanced_parts.h"

namespace weft {
namespace {

// The length in tokens at which attention costs about as much as the products: 6 x width, for a model of width 340.
constexpr int64_t kLinearCost = 2048;

}  // namespace

int64_t sequence_cost(const PlannedSequence& s) {
  const int64_t source = s.source_tokens, target = s.input_tokens;
  return source * (kLinearCost + source) + target * (kLinearCost + target + source);
}

std::vector<std::vector<int64_t>> slice_all(const PlannedStep& step, int64_t size) {
  std::vector<int64_t> costs;
  costs.reserve(step.sequences.size());
  for (const PlannedSequence& s : step.sequences) costs.push_back(sequence_cost(s));
  return balanced_parts(costs, size);
}

std::vector<std::vector<int64_t>> cut_micro_batches(const PlannedStep& step, std::span<const int64_t> slice,
                                                    int64_t max_tokens) {
  if (slice.empty()) return {};
  if (max_tokens <= 0) return {std::vector<int64_t>(slice.begin(), slice.end())};
  std::vector<int64_t> tokens;
  tokens.reserve(slice.size());
  for (int64_t place : slice) tokens.push_back(step.sequences[place].tokens());
  const int64_t total = std::accumulate(tokens.begin(), tokens.end(), int64_t{0});
  const int64_t sequences = static_cast<int64_t>(tokens.size());
  const int64_t most_in_one = std::max<int64_t>(1, max_tokens / *std::min_element(tokens.begin(), tokens.end()));
  // A lower bound on the number of parts, which sequences of equal length reach.
  const int64_t fewest = std::max(divide_up(total, max_tokens), divide_up(sequences, most_in_one));

  const auto fits = [&](const std::vector<int64_t>& part) {
    int64_t sum = 0;
    for (int64_t i : part) sum += tokens[i];
    return part.size() <= 1 || sum <= max_tokens;
  };
  for (int64_t count = fewest;; count += 1 + count / 32) {
    // The loop ends at the latest with one part for every sequence.
    auto parts = balanced_parts(tokens, std::min(count, sequences));
    if (!std::all_of(parts.begin(), parts.end(), fits)) continue;
    std::erase_if(parts, [](const auto& part) { return part.empty(); });
    for (auto& part : parts) {
      for (int64_t& i : part) i = slice[i];
    }
    return parts;
  }
}

std::vector<std::vector<int64_t>> cut_leaves(const PlannedStep& step, int64_t leaf_tokens) {
  std::vector<int64_t> all(step.sequences.size());
  std::iota(all.begin(), all.end(), int64_t{0});
  return cut_micro_batches(step, all, leaf_tokens);
}

std::vector<std::vector<int64_t>> share_leaves(const PlannedStep& step, std::span<const std::vector<int64_t>> leaves,
                                               int64_t size) {
  std::vector<int64_t> costs;
  costs.reserve(leaves.size());
  for (const auto& places : leaves) {
    costs.push_back(0);
    for (int64_t place : places) costs.back() += sequence_cost(step.sequences[place]);
  }
  return balanced_parts(costs, size);
}

std::vector<std::vector<std::vector<int64_t>>> cut_for_all(const PlannedStep& step, int64_t size, int64_t max_tokens,
                                                           StepCut cut) {
  std::vector<std::vector<std::vector<int64_t>>> all;
  if (cut == StepCut::Shares) {
    for (const auto& slice : slice_all(step, size)) all.push_back(cut_micro_batches(step, slice, max_tokens));
    return all;
  }
  const auto leaves = cut_leaves(step, max_tokens);
  for (const auto& numbers : share_leaves(step, leaves, size)) {
    all.emplace_back();
    for (int64_t leaf : numbers) all.back().push_back(leaves[static_cast<size_t>(leaf)]);
  }
  return all;
}

int64_t count_micro_batches(const PlannedStep& step, std::span<const int64_t> slice, int64_t max_tokens) {
  if (slice.empty()) return 0;
  if (max_tokens <= 0) return 1;
  const int64_t tokens = step.sequences[slice.front()].tokens();
  const bool equal = std::ranges::all_of(slice, [&](int64_t i) { return step.sequences[i].tokens() == tokens; });
  if (!equal) return static_cast<int64_t>(cut_micro_batches(step, slice, max_tokens).size());
  return divide_up(static_cast<int64_t>(slice.size()), std::max<int64_t>(1, max_tokens / tokens));
}

}  // namespace weft
