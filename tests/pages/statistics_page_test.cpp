// SPDX-License-Identifier: Apache-2.0
#include "pages/statistics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/pages/logged_run.h"

namespace weft {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::Not;

// A side of texts of these lengths, whose one token has this text.
SideStatistics side_of(const std::vector<int64_t>& lengths, const std::string& text = "a") {
  SideStatistics side{.vocabulary = 7, .distinct = 1};
  for (const int64_t length : lengths) side.tokens.add(length);
  const int64_t tokens = side.tokens.sum();
  side.growth = {{tokens, 1}}, side.frequent = {{3, tokens, text}}, side.ranks = {{1, tokens, tokens}};
  return side;
}

Json told_of(const SideStatistics& side) {
  return block(statistics_page("d", {{.source = side}}), "statistics")["splits"][0]["sides"][0];
}

TEST(StatisticsPage, SaysWhatASideIs) {
  SideStatistics side = side_of({2, 4, 4});
  side.sizes.emplace();
  side.sizes->words.add(5), side.sizes->bytes.add(19);
  side.ranks = {{1, 7, 7}, {2, 3, 10}};
  const Json told = told_of(side);
  EXPECT_EQ(told["name"], "text");
  EXPECT_EQ(told["tokens"], 10);
  EXPECT_EQ(told["words"], 5);
  EXPECT_EQ(told["bytes"], 19);
  EXPECT_EQ(told["vocabulary"], 7);
  EXPECT_EQ(told["distinct"], 1);
  EXPECT_EQ(told["percentiles"], Json::parse("[[0,2],[5,2],[25,2],[50,4],[75,4],[95,4],[99,4],[100,4]]"));
  EXPECT_EQ(told["lengths"], Json::parse(R"({"begin": 2, "width": 1, "bins": [1, 0, 2]})"));
  EXPECT_EQ(told["ranks"], Json::parse("[[1, 7, 7], [2, 3, 10]]"));
  EXPECT_EQ(told["growth"], Json::parse("[[10, 1]]"));
  EXPECT_EQ(told["frequent"], Json::parse(R"([[3, 10, "a"]])"));
  EXPECT_EQ(told_of(side_of({2}))["words"], nullptr) << "unknown text has no words";
}

// 300 lengths from 7 to 306, and a text of a million tokens.
TEST(StatisticsPage, TheLastBinHasTheLongestTexts) {
  std::vector<int64_t> lengths(300);
  std::iota(lengths.begin(), lengths.end(), 7);
  lengths.push_back(1000000);
  const Json told = told_of(side_of(lengths))["lengths"];
  EXPECT_EQ(told["begin"], 0);
  EXPECT_EQ(told["width"], 10);
  const auto bins = told["bins"].get<std::vector<int64_t>>();
  ASSERT_EQ(bins.size(), 31u);  // 99 % of the texts have 304 tokens or fewer
  EXPECT_EQ(bins.front(), 3);
  EXPECT_EQ(bins[1], 10);
  EXPECT_EQ(bins.back(), 7 + 1);
  EXPECT_EQ(std::accumulate(bins.begin(), bins.end(), int64_t{0}), 301);
}

TEST(StatisticsPage, LengthsMayBeAny) {
  for (const int64_t length : {int64_t{0}, int64_t{1} << 62}) {
    const Json told = told_of(side_of({length}))["lengths"];
    EXPECT_EQ(told["bins"], Json::parse("[1]")) << length;
    EXPECT_EQ(told["begin"], length);
  }
  EXPECT_EQ(told_of(side_of({}))["lengths"]["bins"], Json::parse("[0]"));
}

TEST(StatisticsPage, PairsHaveTwoSides) {
  SplitStatistics split{
      .kind = DatasetKind::Pairs, .source = side_of({2}), .target = side_of({3}), .both{{.shared = 4}}};
  split.both->ratio_percent.add(150);
  const Json told = block(statistics_page("d", {split}), "statistics")["splits"][0];
  EXPECT_EQ(told["split"], "train");
  EXPECT_EQ(told["texts"], 1);
  EXPECT_EQ(told["sides"][0]["name"], "source");
  EXPECT_EQ(told["sides"][1]["name"], "target");
  EXPECT_EQ(told["sides"][1]["tokens"], 3);
  EXPECT_EQ(told["shared"], 4);
  EXPECT_EQ(told["ratios"][3], (Json{50, 150}));
}

TEST(StatisticsPage, HostileTextIsNeverMarkup) {
  const std::string hostile(
      "</script><img src=x onerror=alert(1)><!-- \0\x1b[2J\xff\xed\xa0\x80\xE2\x80\xAE\xE2\x80\xA8", 57);
  const std::string page = statistics_page(hostile, {{.source = side_of({2}, hostile)}});
  for (const char* raw : {"<img", "<!-- \\", "\x1b", "\xff", "\xE2\x80\xAE", "\xE2\x80\xA8"})
    EXPECT_THAT(page, Not(HasSubstr(raw)));
  EXPECT_EQ(page.find('\0'), std::string::npos);
  const Json told = block(page, "statistics");
  const std::string spelt = "</script><img src=x onerror=alert(1)><!-- \\x00\\x1b[2J\\xff\\xed\\xa0\\x80\\u202e\\u2028";
  EXPECT_EQ(told["dataset"], spelt);
  EXPECT_EQ(told["splits"][0]["sides"][0]["frequent"][0][2], spelt);
}

}  // namespace
}  // namespace weft
