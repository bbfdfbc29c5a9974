// SPDX-License-Identifier: Apache-2.0
#include "data/batches/balanced_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/hash.h"

namespace weft {
namespace {

using Parts = std::vector<std::vector<int64_t>>;

TEST(BalancedParts, TakeTheDearestFirst) {
  const std::vector<int64_t> costs = {1, 1, 1, 1, 4};
  EXPECT_EQ(balanced_parts(costs, 2), (Parts{{4}, {0, 1, 2, 3}}));
  EXPECT_EQ(balanced_parts(costs, 1), (Parts{{0, 1, 2, 3, 4}}));
  EXPECT_EQ(balanced_parts(costs, 7), (Parts{{4}, {0}, {1}, {2}, {3}, {}, {}}));
  EXPECT_EQ(balanced_parts({}, 2), (Parts{{}, {}}));
  EXPECT_THROW(balanced_parts(costs, 0), InternalError);
  EXPECT_THROW(balanced_parts(std::vector<int64_t>{1, -1}, 2), InternalError);
}

// The rule as its definition states it: the next dearest cost goes to the part with the least sum.
Parts by_definition(const std::vector<int64_t>& costs, int64_t parts) {
  std::vector<int64_t> order(costs.size()), loads(parts);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](int64_t i) { return costs[i]; });
  Parts result(parts);
  for (const int64_t index : order) {
    const int64_t part = std::ranges::min_element(loads) - loads.begin();
    loads[part] += costs[index];
    result[part].push_back(index);
  }
  for (auto& part : result) std::ranges::sort(part);
  return result;
}

std::vector<int64_t> drawn(int64_t count, const std::function<int64_t(uint64_t)>& cost) {
  std::vector<int64_t> costs;
  for (int64_t i = 0; i < count; ++i) costs.push_back(cost(hash64(std::to_string(i))));
  return costs;
}

// Few parts and many; costs that are nearly equal, all equal, zero, or so small beside the first that one part keeps
// the least sum for long.
TEST(BalancedParts, EqualTheDefinition) {
  const std::vector<std::vector<int64_t>> all = {
      drawn(9000, [](uint64_t random) { return 4000 + static_cast<int64_t>(random % 100000); }),
      drawn(3000, [](uint64_t random) { return static_cast<int64_t>(random % 7); }),
      drawn(2000, [](uint64_t) { return 1; }),
      drawn(1100, [](uint64_t) { return 0; }),
      drawn(5000, [](uint64_t random) { return random % 4 == 0 ? static_cast<int64_t>(random >> 24) : 1; }),
      drawn(3000, [](uint64_t random) { return int64_t{1} << (random % 45); }),
      drawn(100, [](uint64_t random) { return static_cast<int64_t>(random % 100); }),
  };
  for (const std::vector<int64_t>& costs : all) {
    for (const int64_t parts : {1, 2, 7, 600, 1024}) {
      EXPECT_TRUE(balanced_parts(costs, parts) == by_definition(costs, parts))
          << costs.size() << " costs, " << parts << " parts";
    }
  }
}

}  // namespace
}  // namespace weft
