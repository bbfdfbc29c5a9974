// SPDX-License-Identifier: Apache-2.0
#include "pages/attention_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/pages/logged_run.h"

namespace weft {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::Not;

// A source and a translation of two tokens each, with one head; every text is this one.
TextAttention attention_of(const std::string& text) {
  TextAttention found{.model = text, .source = text, .text = text};
  found.maps.source = found.maps.text = {.ids = {3, 4}, .texts = {text, text}};
  for (const AttentionKind kind : {AttentionKind::Encoder, AttentionKind::Decoder, AttentionKind::Cross}) {
    found.maps.maps.push_back({.kind = kind,
                               .heads = 1,
                               .queries = 2,
                               .keys = 2,
                               .weights = {1, 0, 0.25f, 0.75f},
                               .mean = {1, 0, 0.25f, 0.75f},
                               .entropy = {0.281}});
  }
  found.heads = {{{}, 0.5}};
  found.alignment = Alignment{.source = {.words = {text}}, .translation = {.words = {text}}, .words = {{0, 0}}};
  return found;
}

TEST(AttentionPage, SaysWhatTheMapsAre) {
  TextAttention found = attention_of("a");
  found.maps.maps[1].weights[3] = std::numeric_limits<float>::quiet_NaN();
  const Json told = block(attention_page(found), "attention");
  EXPECT_EQ(told["tokens"], (Json{"a", "a"}));
  EXPECT_EQ(told["maps"][2]["kind"], "cross");
  EXPECT_EQ(told["maps"][2]["heads"], Json::parse("[[10000, 0, 2500, 7500]]"));
  EXPECT_EQ(told["maps"][1]["heads"], Json::parse("[[10000, 0, 2500, null]]"));
  EXPECT_EQ(told["alignment"]["moses"], "0-0");
  EXPECT_EQ(told["alignment"]["scores"], Json::parse("[[0, 0, \"predicted\", 0.5]]"));
}

TEST(AttentionPage, ALanguageModelHasNoSource) {
  TextAttention found = attention_of("a");
  found.maps.source = {}, found.alignment.reset();
  found.maps.maps = {found.maps.maps[1]};
  const Json told = block(attention_page(found), "attention");
  EXPECT_FALSE(told.contains("source") || told.contains("source_tokens") || told.contains("alignment"));
}

TEST(AttentionPage, HostileTextIsNeverMarkup) {
  const std::string hostile(
      "</script><img src=x onerror=alert(1)><!-- \0\x1b[2J\xff\xed\xa0\x80\xE2\x80\xAE\xE2\x80\xA8", 57);
  const std::string page = attention_page(attention_of(hostile));
  for (const char* raw : {"<img", "<!-- \\", "\x1b", "\xff", "\xE2\x80\xAE", "\xE2\x80\xA8"})
    EXPECT_THAT(page, Not(HasSubstr(raw)));
  EXPECT_EQ(page.find('\0'), std::string::npos);
  const Json told = block(page, "attention");
  const std::string spelt = "</script><img src=x onerror=alert(1)><!-- \\x00\\x1b[2J\\xff\\xed\\xa0\\x80\\u202e\\u2028";
  for (const char* name : {"model", "source", "text"}) EXPECT_EQ(told[name], spelt);
  for (const Json& texts : {told["tokens"], told["source_tokens"], told["alignment"]["words"]})
    EXPECT_EQ(texts[0], spelt);
}

}  // namespace
}  // namespace weft
