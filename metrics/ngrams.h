// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft {

constexpr int kMaxNgramOrder = 8;
using Ngram = std::array<uint32_t, kMaxNgramOrder>;          // unused elements are 0
using NgramCounts = std::vector<std::pair<Ngram, int64_t>>;  // sorted by n-gram

// How often each n-gram of one order (1..kMaxNgramOrder) occurs in a sequence of ids.
NgramCounts count_ngrams(std::span<const uint32_t> ids, int order);
int64_t total_count(const NgramCounts& counts);
// Sum over the n-grams of a of min(count in a, count in b).
int64_t clipped_matches(const NgramCounts& a, const NgramCounts& b);
// For every n-gram the larger of the two counts.
NgramCounts merge_by_maximum(const NgramCounts& a, const NgramCounts& b);

// Numbers distinct words in order of appearance.
class WordIds {
 public:
  std::vector<uint32_t> operator()(const std::vector<std::u32string>& words);

 private:
  std::unordered_map<std::u32string, uint32_t> ids_;
};

}  // namespace weft
