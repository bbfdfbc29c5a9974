// SPDX-License-Identifier: Apache-2.0
#include "data/batches/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

namespace weft {
namespace {

std::vector<uint64_t> all(uint64_t n, uint64_t key) {
  const Permutation permutation(n, key);
  std::vector<uint64_t> result(n);
  for (uint64_t i = 0; i < n; ++i) result[i] = permutation(i);
  return result;
}

void expect_bijection(uint64_t n, uint64_t key) {
  std::vector<bool> seen(n, false);
  for (uint64_t image : all(n, key)) {
    ASSERT_LT(image, n) << "n " << n;
    ASSERT_FALSE(seen[image]) << "n " << n << ": " << image << " twice";
    seen[image] = true;
  }
}

TEST(Permutation, IsABijectionOfEverySmallSize) {
  for (uint64_t n = 0; n <= 300; ++n) expect_bijection(n, n * 7919 + 1);
}

TEST(Permutation, IsABijectionAtPowersOfTwoAndPrimes) {
  for (uint64_t k = 9; k <= 14; ++k) {
    for (uint64_t n : {(1ull << k) - 1, 1ull << k, (1ull << k) + 1}) expect_bijection(n, k);
  }
  for (uint64_t n : {997u, 1000u, 7919u, 65537u}) expect_bijection(n, 3);
}

TEST(Permutation, DependsOnTheKeyAlone) {
  EXPECT_EQ(all(1000, 5), all(1000, 5));
  EXPECT_NE(all(1000, 5), all(1000, 6));
}

// Chi-squared test over all n! orders of a small n: each order should be equally frequent over random keys.
TEST(Permutation, SmallOrdersAreEquallyLikely) {
  for (uint64_t n : {2, 3, 4, 5}) {
    std::map<std::vector<uint64_t>, int> counts;
    double orders = 1;
    for (uint64_t i = 2; i <= n; ++i) orders *= static_cast<double>(i);
    const int draws = static_cast<int>(orders) * 100;
    for (int key = 0; key < draws; ++key) ++counts[all(n, derive_key(key, DataStream::WindowOrder, 0))];
    EXPECT_EQ(counts.size(), static_cast<size_t>(orders));
    double chi2 = 0;
    for (const auto& [order, count] : counts) chi2 += (count - 100.0) * (count - 100.0) / 100.0;
    const double freedom = orders - 1;
    EXPECT_LT(chi2, freedom + 5 * std::sqrt(2 * freedom)) << "n " << n;
  }
}

// The counts in a 16 x 16 table of (index, image) are near n / 256.
TEST(Permutation, ImagesSpreadOverTheRange) {
  const uint64_t n = 100003;
  const auto images = all(n, 42);
  std::vector<double> cells(256, 0);
  double fixed = 0, rising = 0;
  for (uint64_t i = 0; i < n; ++i) {
    cells[i * 16 / n * 16 + images[i] * 16 / n] += 1;
    fixed += images[i] == i;
    if (i > 0) rising += images[i] > images[i - 1];
  }
  const double expected = static_cast<double>(n) / 256;
  double chi2 = 0;
  for (double cell : cells) chi2 += (cell - expected) * (cell - expected) / expected;
  EXPECT_LT(chi2, 225 + 5 * std::sqrt(2 * 225.0));  // 15 x 15 degrees of freedom
  EXPECT_LT(fixed, 8);                              // Poisson with mean 1
  EXPECT_NEAR(rising / static_cast<double>(n), 0.5, 0.01);
}

TEST(Permutation, HugeRangesAreReachedByIndex) {
  const uint64_t n = (1ull << 40) + 15;
  const Permutation permutation(n, 9);
  double mean = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    const uint64_t image = permutation(n - 1 - i);
    ASSERT_LT(image, n);
    mean += static_cast<double>(image) / static_cast<double>(n) / 2000;
  }
  EXPECT_NEAR(mean, 0.5, 0.03);
}

TEST(DeriveKey, DiffersBySeedPurposeAndEpoch) {
  std::map<uint64_t, int> keys;
  for (uint64_t seed : {0, 1, 1357}) {
    for (int64_t epoch : {int64_t{0}, int64_t{1}, int64_t{1} << 32}) {
      ++keys[derive_key(seed, DataStream::WindowOrder, epoch)];
      ++keys[derive_key(seed, DataStream::PairOrder, epoch)];
    }
  }
  EXPECT_EQ(keys.size(), 18u);
}

TEST(UniformBelow, CoversTheRangeEvenly) {
  std::vector<int> counts(7, 0);
  const Philox draw(11);
  for (uint32_t i = 0; i < 7000; ++i) ++counts[uniform_below(7, draw({i, 0, 0, 0}))];
  for (int count : counts) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace weft
