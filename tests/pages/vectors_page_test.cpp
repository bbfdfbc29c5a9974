// SPDX-License-Identifier: Apache-2.0
#include "pages/vectors_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "tests/pages/logged_run.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::Not;

// A map of `count` vectors that lie on a line; every label is this text.
VectorMap map_of(int64_t count, const std::string& label) {
  VectorMap map{.labels = std::vector<std::string>(static_cast<size_t>(count), label)};
  map.components.explained = {0.75, 0.125};
  map.perplexity = 1.5, map.divergence = 0.0123456;
  for (int64_t i = 0; i < count; ++i) {
    map.components.places.push_back({static_cast<double>(i), 1.0 / 3});
    map.t_sne.push_back({-static_cast<double>(i), 1e9});
    map.neighbours.push_back({{.index = (i + 1) % count, .similarity = -0.5}});
  }
  map.similarities.assign(static_cast<size_t>(count * count), 0.25);
  for (int64_t i = 0; i < count; ++i) map.similarities[i * count + i] = 1;
  return map;
}

InputVectors inputs_of(const std::string& text, int64_t tokens, int64_t width) {
  InputVectors inputs;
  inputs.tokens = {.ids = std::vector<int32_t>(static_cast<size_t>(tokens)),
                   .texts = std::vector<std::string>(static_cast<size_t>(tokens), text)};
  const std::vector<float> values(static_cast<size_t>(tokens * width), 0.5f);
  inputs.token = inputs.position = inputs.sum = {.width = width, .values = values};
  return inputs;
}

TEST(MapPage, HasPlacesNeighboursAndSimilarities) {
  const Json told = block(map_page("runs/a", MapOf::Texts, map_of(3, "a")), "vectors");
  EXPECT_EQ(told["model"], "runs/a");
  EXPECT_EQ(told["title"], "3 texts");
  const Json& map = told["map"];
  EXPECT_EQ(map["labels"], (Json{"a", "a", "a"}));
  EXPECT_EQ(map["ordered"], false);
  EXPECT_EQ(map["components"], Json::parse("[[0.0, 0.3333], [1.0, 0.3333], [2.0, 0.3333]]"));
  EXPECT_EQ(map["t_sne"][1], Json::parse("[-1.0, 1e9]"));
  EXPECT_EQ(map["explained"], Json::parse("[0.75, 0.125]"));
  EXPECT_EQ(map["divergence"], 0.01235);
  EXPECT_EQ(map["neighbours"], Json::parse("[[[1, -5000]], [[2, -5000]], [[0, -5000]]]"));
  EXPECT_EQ(map["similarities"]["step"], 1);
  EXPECT_EQ(map["similarities"]["values"], Json::parse("[10000, 2500, 2500, 2500, 10000, 2500, 2500, 2500, 10000]"));
}

TEST(MapPage, PositionsFollowOneAnother) {
  const Json told = block(map_page("runs/a", MapOf::Positions, map_of(3, "0")), "vectors");
  EXPECT_EQ(told["title"], "3 positions");
  EXPECT_EQ(told["map"]["ordered"], true);
}

TEST(MapPage, ShowsAPartOfALargeMatrix) {
  const Json told = block(map_page("runs/a", MapOf::Texts, map_of(401, "a")), "vectors");
  EXPECT_EQ(told["map"]["labels"].size(), 401u);
  EXPECT_EQ(told["map"]["similarities"]["step"], 3);
  EXPECT_EQ(told["map"]["similarities"]["values"].size(), 134u * 134);
}

TEST(InputsPage, HasTokensPositionsAndTheirSum) {
  InputVectors inputs = inputs_of("a", 2, 3);
  inputs.sum.values[5] = std::numeric_limits<float>::quiet_NaN();
  const Json told = block(inputs_page("runs/a", "aa", inputs), "vectors");
  EXPECT_EQ(told["title"], "aa");
  EXPECT_EQ(told["inputs"]["tokens"], (Json{"a", "a"}));
  const Json& parts = told["inputs"]["parts"];
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0]["name"], "token");
  EXPECT_EQ(parts[2]["values"], Json::parse("[0.5, 0.5, 0.5, 0.5, 0.5, null]"));
}

TEST(InputsPage, ShowsAPartOfWideVectorsAndRefusesLongTexts) {
  const Json told = block(inputs_page("runs/a", "a", inputs_of("a", 1, 2050)), "vectors");
  EXPECT_EQ(told["inputs"]["step"], 3);
  EXPECT_EQ(told["inputs"]["parts"][1]["values"].size(), 684u);
  EXPECT_THAT(error_of<DataError>([] { inputs_page("runs/a", "a", inputs_of("a", 129, 2)); }),
              HasSubstr("129 tokens; a page shows at most 128"));
}

TEST(InputsPage, WithoutPositionsHasTokensAlone) {
  InputVectors inputs = inputs_of("a", 2, 3);
  inputs.position = {};
  EXPECT_EQ(block(inputs_page("runs/a", "aa", inputs), "vectors")["inputs"]["parts"].size(), 1u);
}

TEST(VectorsPage, HostileTextIsNeverMarkup) {
  const std::string hostile(
      "</script><img src=x onerror=alert(1)><!-- \0\x1b[2J\xff\xed\xa0\x80\xE2\x80\xAE\xE2\x80\xA8", 57);
  const std::string spelt = "</script><img src=x onerror=alert(1)><!-- \\x00\\x1b[2J\\xff\\xed\\xa0\\x80\\u202e\\u2028";
  const std::string map = map_page(hostile, MapOf::Texts, map_of(3, hostile));
  const std::string inputs = inputs_page(hostile, hostile, inputs_of(hostile, 2, 2));
  for (const std::string& page : {map, inputs}) {
    for (const char* raw : {"<img", "<!-- \\", "\x1b", "\xff", "\xE2\x80\xAE", "\xE2\x80\xA8"})
      EXPECT_THAT(page, Not(HasSubstr(raw)));
    EXPECT_EQ(page.find('\0'), std::string::npos);
    EXPECT_EQ(block(page, "vectors")["model"], spelt);
  }
  EXPECT_EQ(block(map, "vectors")["map"]["labels"][2], spelt);
  EXPECT_EQ(block(inputs, "vectors")["title"], spelt);
  EXPECT_EQ(block(inputs, "vectors")["inputs"]["tokens"][1], spelt);
}

}  // namespace
}  // namespace weft
