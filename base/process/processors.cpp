// SPDX-License-Identifier: Apache-2.0
#include "base/process/processors.h"

#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace weft {

int ProcessorSet::size() const {
  return std::accumulate(words_.begin(), words_.end(), 0, [](int sum, uint64_t w) { return sum + std::popcount(w); });
}

void ProcessorSet::add(const ProcessorSet& other) {
  for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
}

std::string ProcessorSet::text() const {
  std::string out;
  for (int first = 0; first < kLimit; ++first) {
    if (!holds(first)) continue;
    int last = first;
    while (last + 1 < kLimit && holds(last + 1)) ++last;
    out += fmt::format("{}{}", out.empty() ? "" : ",", first);
    if (last > first) out += fmt::format("-{}", last);
    first = last;
  }
  return out;
}

ProcessorSet allowed_processors() {
  ProcessorSet set;
  std::array<cpu_set_t, ProcessorSet::kLimit / CPU_SETSIZE> mask{};
  if (sched_getaffinity(0, sizeof mask, mask.data()) == 0) {
    for (int p = 0; p < ProcessorSet::kLimit; ++p) {
      if (CPU_ISSET_S(static_cast<size_t>(p), sizeof mask, mask.data())) set.add(p);
    }
    return set;
  }
  // The kernel forbids the query: all processors that are online.
  const auto online = std::clamp<long>(sysconf(_SC_NPROCESSORS_ONLN), 1, ProcessorSet::kLimit);
  for (int p = 0; p < static_cast<int>(online); ++p) set.add(p);
  return set;
}

int fair_threads(std::span<const ProcessorSet> masks, size_t me) {
  double share = 0;
  for (int p = 0; p < ProcessorSet::kLimit; ++p) {
    if (!masks[me].holds(p)) continue;
    share += 1.0 / static_cast<double>(std::ranges::count_if(masks, [p](const auto& m) { return m.holds(p); }));
  }
  // Thirds do not sum to whole numbers in binary.
  return std::max(1, static_cast<int>(share + 1e-6));
}

}  // namespace weft
