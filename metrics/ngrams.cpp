// SPDX-License-Identifier: Apache-2.0
#include "metrics/ngrams.h"

#include <algorithm>

#include "base/error.h"

namespace weft {

NgramCounts count_ngrams(std::span<const uint32_t> ids, int order) {
  require<InternalError>(order >= 1 && order <= kMaxNgramOrder, "n-gram order {} is not in 1..{}", order,
                         kMaxNgramOrder);
  std::vector<Ngram> all;
  for (size_t i = 0; i + order <= ids.size(); ++i) {
    std::copy_n(ids.begin() + i, order, all.emplace_back(Ngram{}).begin());
  }
  std::sort(all.begin(), all.end());
  NgramCounts counts;
  for (const Ngram& ngram : all) {
    if (counts.empty() || counts.back().first != ngram) counts.emplace_back(ngram, 0);
    ++counts.back().second;
  }
  return counts;
}

int64_t total_count(const NgramCounts& counts) {
  int64_t total = 0;
  for (const auto& [ngram, count] : counts) total += count;
  return total;
}

int64_t clipped_matches(const NgramCounts& a, const NgramCounts& b) {
  int64_t matches = 0;
  auto at = b.begin();
  for (const auto& [ngram, count] : a) {
    while (at != b.end() && at->first < ngram) ++at;
    if (at != b.end() && at->first == ngram) matches += std::min(count, at->second);
  }
  return matches;
}

NgramCounts merge_by_maximum(const NgramCounts& a, const NgramCounts& b) {
  NgramCounts merged;
  merged.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged));
  size_t kept = 0;
  for (const auto& item : merged) {
    if (kept > 0 && merged[kept - 1].first == item.first) {
      merged[kept - 1].second = std::max(merged[kept - 1].second, item.second);
    } else {
      merged[kept++] = item;
    }
  }
  merged.resize(kept);
  return merged;
}

std::vector<uint32_t> WordIds::operator()(const std::vector<std::u32string>& words) {
  std::vector<uint32_t> ids;
  ids.reserve(words.size());
  for (const std::u32string& word : words) {
    ids.push_back(ids_.try_emplace(word, static_cast<uint32_t>(ids_.size())).first->second);
  }
  return ids;
}

}  // namespace weft
