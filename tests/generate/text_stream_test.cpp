// SPDX-License-Identifier: Apache-2.0
// Text that is shown while it grows, and the stop strings that end it.
#include "generate/text_stream.h"

#include <gtest/gtest.h>

#include <random>

#include "base/text/utf8.h"
#include "tests/data/tokenizer/fixture/make_tokenizer.h"

namespace weft {
namespace {

using namespace test;

const Tokenizer& bytes() {
  static const TokenizerPtr tokenizer = train_tokenizer({.kind = TokenizerKind::Bytes}, {}, 1);
  return *tokenizer;
}

TEST(TextStream, ShowsWholeCharactersAndLosesNothing) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z\xFF\xE2\x28 end\xC3";
  const std::vector<int32_t> tokens = bytes().encode(text);
  TextStream stream(bytes(), {});
  std::string shown;
  for (size_t n = 1; n <= tokens.size(); ++n) {
    const std::string piece = stream.grow(std::span(tokens).first(n));
    if (n <= 10) {  // all bytes up to the z are valid
      EXPECT_TRUE(is_utf8(piece)) << n;
    }
    shown += piece;
  }
  EXPECT_EQ(shown, text.substr(0, text.size() - 1));  // the last byte may begin a longer character
  EXPECT_EQ(stream.finish(text), "\xC3");
}

TEST(TextStream, HoldsBackWhatMayBeginAStopString) {
  const std::vector<int32_t> tokens = bytes().encode("one\n\ntwo");
  TextStream stream(bytes(), {"\n\nthree", "\n\n\n"});
  EXPECT_EQ(stream.grow(std::span(tokens).first(3)), "one");
  EXPECT_EQ(stream.grow(std::span(tokens).first(4)), "");
  EXPECT_EQ(stream.grow(std::span(tokens).first(5)), "");
  EXPECT_EQ(stream.grow(std::span(tokens).first(6)), "");
  EXPECT_EQ(stream.grow(std::span(tokens).first(7)), "\n\ntw");
  EXPECT_EQ(stream.finish("one\n\ntwo"), "o");
}

// The result must be that of a search in the whole text, for tokens of any length.
TEST(StopStrings, AreFoundWhenTheLastTokenCompletesThem) {
  const std::vector<std::string_view> corpus{"ab abc abcab cab b a abcabcab abc ab cabca bc abab"};
  const TokenizerPtr tokenizer = train_tokenizer({.kind = TokenizerKind::Bpe, .merges = 12}, corpus, 1);
  std::mt19937 random(3);
  int found = 0;
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (int i = 0; i < 30; ++i) text += "abc "[random() % 4];
    const std::vector<std::string> stops{text.substr(random() % 20, 1 + random() % 9), "zz"};
    const std::vector<int32_t> tokens = tokenizer->encode(text);
    for (size_t n = 1; n <= tokens.size(); ++n) {
      const bool expected = tokenizer->decode(std::span(tokens).first(n)).find(stops[0]) != std::string::npos;
      ASSERT_EQ(ends_in_stop(*tokenizer, std::span(tokens).first(n), stops), expected) << text << " " << stops[0];
      found += expected;
      if (expected) break;  // a search stops here
    }
  }
  EXPECT_EQ(found, 500);
  EXPECT_EQ(first_stop("one two", std::vector<std::string>{"two", "ne"}), 1u);
}

}  // namespace
}  // namespace weft
