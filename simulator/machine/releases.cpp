// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/releases.h"

#include <algorithm>
#include <tuple>

namespace weft::cuda_device {
namespace {
bool before(const Release& a, const Release& b) {
  return std::tie(a.runs.first, a.runs.end) < std::tie(b.runs.first, b.runs.end);
}
bool same(const Release& a, const Release& b) { return !before(a, b) && !before(b, a) && a.thread == b.thread; }
}  // namespace

void Releases::acquire(uint64_t address, std::vector<Release>* known) const {
  const auto it = by_address_.find(address);
  if (it == by_address_.end()) return;
  known->insert(known->end(), it->second.begin(), it->second.end());
  std::ranges::sort(*known, before);
  known->erase(std::unique(known->begin(), known->end(), same), known->end());
}

size_t blocks_of(const std::vector<Release>& known) {
  size_t blocks = 0;
  for (size_t k = 0; k < known.size(); ++k) blocks += k == 0 || known[k].runs.first != known[k - 1].runs.first;
  return blocks;
}

}  // namespace weft::cuda_device
