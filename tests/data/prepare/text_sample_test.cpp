// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/records/text_sample.h"

#include <gmock/gmock.h>

#include <numeric>

namespace weft {
namespace {

std::vector<std::string> sample(uint64_t bytes, int count) {
  TextSample sample(bytes);
  for (int i = 0; i < count; ++i) sample.add(std::to_string(100'000 + i));
  return sample.take();
}

TEST(TextSample, HoldsAsManyBytesAsItMayInOrder) {
  const auto texts = sample(6 * 500 + 5, 10'000);
  EXPECT_EQ(texts.size(), 500u);
  EXPECT_TRUE(std::ranges::is_sorted(texts));
  EXPECT_EQ(sample(60'000, 10'000).size(), 10'000u);
  EXPECT_TRUE(texts == sample(6 * 500 + 5, 10'000));
}

// Of 10,000 texts 2,000 are drawn: 200 of each thousand, within four standard deviations of 12.6.
TEST(TextSample, EachTextHasTheSameChance) {
  std::vector<int> drawn(10);
  for (const std::string& text : sample(6 * 2000, 10'000)) ++drawn[(std::stoul(text) - 100'000) / 1000];
  for (const int n : drawn) EXPECT_NEAR(n, 200, 51);
}

TEST(TextSample, ATextThatIsTooLongIsTakenAlone) {
  TextSample sample(3);
  sample.add("a long text");
  EXPECT_THAT(sample.take(), testing::ElementsAre("a long text"));
  EXPECT_THAT(TextSample(3).take(), testing::IsEmpty());
}

}  // namespace
}  // namespace weft
