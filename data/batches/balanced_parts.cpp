// SPDX-License-Identifier: Apache-2.0
#include "data/batches/balanced_parts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <utility>

#include "base/error.h"

namespace weft {
namespace {

struct Keyed {
  uint64_t key;
  int64_t index;
  auto operator<=>(const Keyed&) const = default;
};

// Sorts by key, and equal keys by index: items come in the order of their indices. A radix sort with a pass for
// every 12 bits of the greatest key, or a comparison sort if there are few items.
void sort_by_key(std::vector<Keyed>& items, uint64_t greatest) {
  constexpr int kBits = 12;
  constexpr uint64_t kDigits = uint64_t{1} << kBits;
  if (items.size() < kDigits / 8) {
    std::ranges::sort(items);
    return;
  }
  std::vector<Keyed> sorted(items.size());
  for (int shift = 0; shift < 64 && (greatest >> shift) > 0; shift += kBits) {
    const auto digit = [&](const Keyed& item) { return (item.key >> shift) % kDigits; };
    std::array<uint64_t, kDigits> begins{};
    for (const Keyed& item : items) ++begins[digit(item)];
    uint64_t sum = 0;
    for (uint64_t& begin : begins) sum += std::exchange(begin, sum);
    for (const Keyed& item : items) sorted[begins[digit(item)]++] = item;
    items.swap(sorted);
  }
}

// The indices of the costs, the greatest cost first.
std::vector<Keyed> in_order(std::span<const int64_t> costs) {
  const int64_t most = costs.empty() ? 0 : std::ranges::max(costs);
  std::vector<Keyed> order;
  order.reserve(costs.size());
  for (const int64_t cost : costs) {
    require<InternalError>(cost >= 0, "balanced_parts: a cost of {}", cost);
    order.push_back({static_cast<uint64_t>(most - cost), std::ssize(order)});
  }
  sort_by_key(order, static_cast<uint64_t>(most));
  return order;
}

// Deals indices, the costliest first, each to the part with the least cost so far.
class Dealer {
 public:
  Dealer(std::span<const int64_t> costs, int64_t parts) : costs_(costs), loads_(parts), part_of_(costs.size()) {}

  // Returns the part of each index. With thousands of parts a heap of them is slow, so sweeps deal most indices.
  const std::vector<int64_t>& deal() {
    constexpr size_t kManyParts = 512, kAtOnce = 4096;
    const std::vector<Keyed> order = in_order(costs_);
    std::span<const Keyed> left(order);
    while (!left.empty()) {
      const size_t dealt = loads_.size() < kManyParts ? 0 : sweep(left);
      left = left.subspan(dealt);
      if (dealt > loads_.size() / 4) continue;
      const auto next = left.first(std::min(left.size(), std::max(loads_.size(), kAtOnce)));
      by_heap(next);
      left = left.subspan(next.size());
    }
    return part_of_;
  }

 private:
  void give(int64_t part, int64_t index) {
    loads_[part] += static_cast<uint64_t>(costs_[index]);
    part_of_[index] = part;
  }

  // Deals one item to each part in the order of their loads, until a part with a new item may have the least load.
  // Returns the number of items dealt.
  size_t sweep(std::span<const Keyed> items) {
    const auto [least, most] = std::ranges::minmax(loads_);
    std::vector<Keyed> parts;
    parts.reserve(loads_.size());
    for (const uint64_t load : loads_) parts.push_back({load - least, std::ssize(parts)});
    sort_by_key(parts, most - least);
    uint64_t least_served = std::numeric_limits<uint64_t>::max();
    size_t dealt = 0;
    for (; dealt < std::min(items.size(), parts.size()) && parts[dealt].key < least_served; ++dealt) {
      const auto [load, part] = parts[dealt];
      const int64_t index = items[dealt].index;
      least_served = std::min(least_served, load + static_cast<uint64_t>(costs_[index]));
      give(part, index);
    }
    return dealt;
  }

  void by_heap(std::span<const Keyed> items) {
    std::vector<Keyed> parts;
    for (const uint64_t load : loads_) parts.push_back({load, std::ssize(parts)});
    std::priority_queue<Keyed, std::vector<Keyed>, std::greater<>> heap(std::greater<>{}, std::move(parts));
    for (const Keyed& item : items) {
      const int64_t part = heap.top().index;
      heap.pop();
      give(part, item.index);
      heap.push({loads_[part], part});
    }
  }

  std::span<const int64_t> costs_;
  std::vector<uint64_t> loads_;
  std::vector<int64_t> part_of_;
};

}  // namespace

std::vector<std::vector<int64_t>> balanced_parts(std::span<const int64_t> costs, int64_t parts) {
  require<InternalError>(parts > 0, "balanced_parts: {} parts", parts);
  Dealer dealer(costs, parts);
  const std::vector<int64_t>& part_of = dealer.deal();
  std::vector<int64_t> sizes(parts);
  for (const int64_t part : part_of) ++sizes[part];
  std::vector<std::vector<int64_t>> result(parts);
  for (int64_t part = 0; part < parts; ++part) result[part].reserve(sizes[part]);
  for (int64_t index = 0; index < std::ssize(part_of); ++index) result[part_of[index]].push_back(index);
  return result;
}

}  // namespace weft
