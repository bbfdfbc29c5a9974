// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace weft::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<int32_t> by_sorting(const std::vector<float>& logits, int64_t count, const std::vector<int32_t>& blocked) {
  std::vector<int32_t> order;
  for (size_t i = 0; i < logits.size(); ++i) {
    const auto token = static_cast<int32_t>(i);
    if (logits[i] > -kInfinity && !std::binary_search(blocked.begin(), blocked.end(), token)) order.push_back(token);
  }
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
  if (static_cast<int64_t>(order.size()) > count) order.resize(count);
  return order;
}

TEST(BestTokens, EqualsSortingForAnySizeWithTiesAndBlocks) {
  std::mt19937 random(5);
  for (int round = 0; round < 600; ++round) {
    const int sizes[] = {1, 2, 15, 16, 17, 63, 64, 65, 200, 1000, 5003};
    std::vector<float> logits(sizes[random() % std::size(sizes)]);
    const unsigned kinds = round % 3 == 0 ? 4 : 1u << 20;
    for (float& x : logits) x = static_cast<float>(random() % kinds) / 16 - 3;
    if (round % 5 == 0) {
      for (size_t i = 0; i < logits.size(); i += 3) logits[i] = -kInfinity;
    }
    std::vector<int32_t> blocked;
    for (unsigned i = 0; i < random() % 9; ++i) blocked.push_back(static_cast<int32_t>(random() % logits.size()));
    std::sort(blocked.begin(), blocked.end());
    blocked.erase(std::unique(blocked.begin(), blocked.end()), blocked.end());
    const int64_t counts[] = {0, 1, 2, 6, 50, 97, 500, 10000};
    const int64_t count = counts[random() % std::size(counts)];
    std::vector<int32_t> tokens;
    for (const Candidate& c : best_tokens(logits, count, blocked)) {
      EXPECT_EQ(c.logit, logits[c.token]);
      tokens.push_back(c.token);
    }
    ASSERT_EQ(tokens, by_sorting(logits, count, blocked)) << logits.size() << " " << count;
  }
}

TEST(LogSumExp, EqualsDoubleArithmetic) {
  std::mt19937 random(6);
  for (const int size : {1, 7, 16, 129, 1024, 1025, 50257}) {
    for (const double scale : {1.0, 0.1, 3.0}) {
      std::vector<float> logits(size);
      for (float& x : logits) x = static_cast<float>(random()) / 1e8f + 300;  // 300..343: needs the shift
      double sum = 0;
      for (const float x : logits) sum += std::exp((static_cast<double>(x) - 343) * scale);
      EXPECT_NEAR(log_sum_exp(logits, scale), std::log(sum) + 343 * scale, 2e-6) << size << " " << scale;
    }
  }
}

TEST(LogSumExp, DistinguishesDegenerateRows) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(log_sum_exp(std::vector<float>(20, -kInfinity)), -std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(log_sum_exp(std::vector<float>{-kInfinity, 2, -kInfinity}), 2);
  EXPECT_TRUE(std::isnan(log_sum_exp(std::vector<float>{1, nan, 2})));
  EXPECT_TRUE(std::isnan(log_sum_exp(std::vector<float>(40, nan))));
  EXPECT_TRUE(std::isnan(log_sum_exp(std::vector<float>{1, kInfinity})));
}

}  // namespace
}  // namespace weft::cpu
