// SPDX-License-Identifier: Apache-2.0
#include "pages/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(Bins, CoverEachRowOnce) {
  for (const size_t rows : {0, 1, 7, 1999, 2000, 2001, 12345}) {
    const Bins bins(rows, 2000);
    EXPECT_EQ(bins.size(), std::min<size_t>(rows, 2000));
    size_t next = 0;
    for (size_t bin = 0; bin < bins.size(); ++bin) {
      EXPECT_EQ(bins.begin(bin), next);
      EXPECT_GE(bins.last(bin), next);
      next = bins.last(bin) + 1;
    }
    EXPECT_EQ(next, rows);
  }
}

TEST(Bins, KeepExtremes) {
  std::vector<double> values(10007, 1.0);
  values[4321] = 1000, values[9876] = -5, values[17] = kNone;
  const BinnedValues made = binned(Bins(values.size(), 100), values, values, values);
  EXPECT_EQ(std::ranges::max(made.high), 1000);
  EXPECT_EQ(std::ranges::min(made.low), -5);
  EXPECT_EQ(made.high[4321 * 100 / 10007], 1000);
  EXPECT_EQ(made.mean[0], 1.0) << "what is not finite does not count";
}

TEST(Bins, HaveNoValueWhereNoneIsFinite) {
  const std::vector<double> values = {1, kNone, kNone, std::numeric_limits<double>::infinity(), 5, 6};
  const BinnedValues made = binned(Bins(6, 3), values, values, values);
  EXPECT_TRUE(std::isnan(made.mean[1]) && std::isnan(made.low[1]) && std::isnan(made.high[1]));
  EXPECT_EQ(made.mean[2], 5.5);
}

TEST(Columns, HoldNothingForWhatNoLineHas) {
  Columns columns(2);
  columns.add({.step = 1, .numbers = {kNone, kNone}});
  columns.add({.step = 2, .numbers = {7, kNone}});
  columns.add({.step = 5, .numbers = {8, kNone}});
  EXPECT_TRUE(columns.values(1).empty());
  ASSERT_EQ(columns.values(0).size(), 3U);
  EXPECT_TRUE(std::isnan(columns.values(0)[0]));
  columns.drop_from(3);
  EXPECT_EQ(columns.steps(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(columns.values(0).size(), 2U);
}

}  // namespace
}  // namespace weft
