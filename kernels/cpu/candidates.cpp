// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/candidates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/fast_exp.h"

namespace weft::cpu {
namespace {

constexpr int kLanes = 16;
constexpr int64_t kBlock = 64;           // logits whose maximum is compared with the threshold
constexpr int64_t kSumBlock = 1024;      // terms that are summed in fp32; their sums are added in double
constexpr int64_t kInsertionLimit = 96;  // candidates; up to this many inserting beats partitioning
constexpr float kNothing = -std::numeric_limits<float>::infinity();

float maximum(const float* x, int64_t n) {
  std::array<float, kLanes> lanes;
  lanes.fill(kNothing);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
  }
  for (; i < n; ++i) lanes[0] = std::max(lanes[0], x[i]);
  return *std::max_element(lanes.begin(), lanes.end());
}

float sum_of_exp(const float* x, int64_t n, float shift, float scale) {
  std::array<float, kLanes> lanes{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) lanes[j] += fast_exp((x[i + j] - shift) * scale);
  }
  for (; i < n; ++i) lanes[0] += fast_exp((x[i] - shift) * scale);
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

// Keeps `best` sorted and at most `limit` long.
void insert(std::vector<Candidate>& best, Candidate candidate, size_t limit) {
  if (best.size() == limit) best.pop_back();
  best.insert(std::upper_bound(best.begin(), best.end(), candidate, better), candidate);
}

std::vector<Candidate> best_by_insertion(std::span<const float> logits, size_t limit) {
  std::vector<Candidate> best;
  best.reserve(limit);
  const int64_t size = static_cast<int64_t>(logits.size());
  float threshold = kNothing;  // a candidate must exceed it: equal ones with a smaller token are in already
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, size);
    if (!(maximum(&logits[begin], end - begin) > threshold)) continue;
    for (int64_t i = begin; i < end; ++i) {
      if (!(logits[i] > threshold)) continue;
      insert(best, {logits[i], static_cast<int32_t>(i)}, limit);
      if (best.size() == limit) threshold = best.back().logit;
    }
  }
  return best;
}

std::vector<Candidate> best_by_partition(std::span<const float> logits, size_t limit) {
  std::vector<Candidate> all;
  all.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > kNothing) all.push_back({logits[i], static_cast<int32_t>(i)});
  }
  if (limit < all.size()) {
    std::nth_element(all.begin(), all.begin() + static_cast<int64_t>(limit), all.end(), better);
    all.resize(limit);
  }
  std::sort(all.begin(), all.end(), better);
  return all;
}

}  // namespace

double log_sum_exp(std::span<const float> logits, double scale) {
  const int64_t size = static_cast<int64_t>(logits.size());
  const float shift = maximum(logits.data(), size);
  // If every logit is -inf or NaN, the sum of the differences to 0 shows which.
  const float origin = shift == kNothing ? 0.0f : shift;
  double sum = 0;
  for (int64_t begin = 0; begin < size; begin += kSumBlock) {
    sum += sum_of_exp(&logits[begin], std::min(kSumBlock, size - begin), origin, static_cast<float>(scale));
  }
  return std::log(sum) + scale * static_cast<double>(origin);
}

std::vector<Candidate> best_tokens(std::span<const float> logits, int64_t count, std::span<const int32_t> blocked) {
  const size_t wanted = static_cast<size_t>(std::clamp<int64_t>(count, 0, static_cast<int64_t>(logits.size())));
  const size_t limit = std::min(wanted + blocked.size(), logits.size());
  if (wanted == 0) return {};
  std::vector<Candidate> best = limit <= static_cast<size_t>(kInsertionLimit) ? best_by_insertion(logits, limit)
                                                                              : best_by_partition(logits, limit);
  std::erase_if(best, [&](const Candidate& c) { return std::binary_search(blocked.begin(), blocked.end(), c.token); });
  if (best.size() > wanted) best.resize(wanted);
  return best;
}

}  // namespace weft::cpu
