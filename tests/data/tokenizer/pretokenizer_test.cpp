// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/pretokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/data/tokenizer/fixture/golden.h"

namespace weft {
namespace {

using namespace test;

using Pretokens = std::vector<std::string>;

constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kDigits = R"(\p{N})";

Pretokens split(const std::string& pattern, std::string_view text) {
  Pretokens pretokens;
  Pretokenizer(pattern).for_each(text, [&](std::string_view pretoken) { pretokens.emplace_back(pretoken); });
  return pretokens;
}

// The classes equal tiktoken's \p{L}, \p{N} and \s on every code point.
TEST(UnicodeTables, ClassifyEveryCodePoint) {
  const auto& blocks = tokenizer_golden()["classes"];
  ASSERT_EQ(blocks.size(), 0x110u);
  for (uint32_t block = 0; block < 0x110; ++block) {
    uint64_t hash = kEmptyIdsHash;
    for (uint32_t c = block * 4096; c < (block + 1) * 4096; ++c) {
      hash = ids_hash(static_cast<uint64_t>(char_class(c)), hash);
    }
    EXPECT_EQ(std::to_string(hash), blocks[block].get<std::string>()) << "code points from " << block * 4096;
  }
  EXPECT_EQ(char_class(0x110000), CharClass::Other);
}

TEST(Pretokenizer, CutsAsGpt2Does) {
  EXPECT_EQ(split("gpt2", "it's I'LL a1  b\n\n c "),
            (Pretokens{"it", "'s", " I", "'", "LL", " a", "1", " ", " b", "\n\n", " c", " "}));
  EXPECT_EQ(split("gpt2", ""), Pretokens{});
  EXPECT_EQ(split("gpt2", " \n "), Pretokens{" \n "});
  EXPECT_EQ(split("gpt2", "!?'x"), (Pretokens{"!?'", "x"}));
}

TEST(Pretokenizer, CutsAsGpt4Does) {
  EXPECT_EQ(split("gpt4", "I'LL -x 12345 !\n\n  y \n z"),
            (Pretokens{"I", "'LL", " -", "x", " ", "123", "45", " !\n\n", " ", " y", " \n", " z"}));
  EXPECT_EQ(split("gpt4", "x \n "), (Pretokens{"x", " \n "}));
  EXPECT_EQ(split("gpt4-classic", "x \n "), (Pretokens{"x", " \n", " "}));
  EXPECT_EQ(split("gpt4", "'\u017Fx"), (Pretokens{"'\u017F", "x"}));  // long s is an s if case is ignored
}

TEST(Pretokenizer, CutsAsO200kDoes) {
  EXPECT_EQ(split("o200k", "camelCase HTTPServer's don'T\n x/\n/y 1234"),
            (Pretokens{"camel", "Case", " HTTPServer's", " don'T", "\n", " x", "/\n/", "y", " ", "123", "4"}));
  EXPECT_EQ(split("o200k", "A\u3042B"), (Pretokens{"A\u3042", "B"}));  // a letter without case ends a word of capitals
  EXPECT_EQ(split("o200k", "\u0301A"), (Pretokens{"\u0301", "A"}));
}

TEST(Pretokenizer, KnowsTheExpressionsThatItsScannersReplace) {
  EXPECT_EQ(Pretokenizer(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)").rule(),
            Pretokenizer::Rule::Gpt2);
  const Pretokenizer classic(
      R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)");
  EXPECT_EQ(classic.rule(), Pretokenizer::Rule::Gpt4Classic);
  EXPECT_EQ(classic.pattern(), "gpt4-classic");
  EXPECT_EQ(Pretokenizer(kQwen2).rule(), Pretokenizer::Rule::Qwen2);
  EXPECT_EQ(Pretokenizer(kQwen2).pattern(), kQwen2);  // so that hashes of tokenizers stay
  EXPECT_EQ(Pretokenizer(kDigits).rule(), Pretokenizer::Rule::Digits);
  EXPECT_EQ(Pretokenizer("words").rule(), Pretokenizer::Rule::Custom);  // the letters w, o, r, d, s
}

// Runs the same expressions through PCRE2; `(?:)` keeps them from being recognised.
TEST(Pretokenizer, ScannersEqualTheirExpressions) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"gpt2", R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)"},
      {"gpt4",
       R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|\s*[\r\n]|\s+(?!\S)|\s)"},
      {"gpt4-classic",
       R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
      {kQwen2, kQwen2},
      {kDigits, kDigits},
      {"o200k",
       R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}};
  const std::vector<std::string> parts = {" ",  " ",      "\n", "\r", "\t",     "'",      "s", "S",      "t",
                                          "l",  "L",      "v",  "e",  "r",      "d",      "M", "a",      "Z",
                                          "0",  "9",      "!",  "-",  "\u00a0", "\u3000", "é", "\u017F", "\u0663",
                                          "中", "\u0301", "😀",  "/",  "É",      "\u01c5"};
  std::mt19937 random(3);
  for (const auto& [name, expression] : pairs) {
    const std::string compiled = "(?:)" + expression;
    ASSERT_EQ(Pretokenizer(compiled).rule(), Pretokenizer::Rule::Custom);
    for (int round = 0; round < 3000; ++round) {
      std::string text;
      for (size_t n = random() % 25; n > 0; --n) text += parts[random() % parts.size()];
      ASSERT_EQ(split(name, text), split(compiled, text)) << name << " \"" << text << "\"";
    }
  }
}

TEST(Pretokenizer, CoversAnyBytes) {
  std::mt19937 random(4);
  for (const std::string pattern :
       {"gpt2", "gpt4", "gpt4-classic", "o200k", kQwen2, kDigits, "none", R"(\w+)", R"((?=a)|b\Kc|\s)"}) {
    for (int round = 0; round < 500; ++round) {
      std::string text;
      for (size_t n = random() % 40; n > 0; --n) {
        text += random() % 2 == 0 ? static_cast<char>(random()) : "abc d"[random() % 5];
      }
      std::string joined;
      for (const std::string& pretoken : split(pattern, text)) {
        EXPECT_FALSE(pretoken.empty());
        joined += pretoken;
      }
      ASSERT_EQ(joined, text) << pattern;
    }
  }
}

TEST(Pretokenizer, TakesInvalidBytesAsCharactersOfNoClass) {
  EXPECT_EQ(split("gpt2", "a\xFF\xFE b"), (Pretokens{"a", "\xFF\xFE", " b"}));
  EXPECT_EQ(split("gpt2", "a\xE2\x82"), (Pretokens{"a", "\xE2\x82"}));          // truncated
  EXPECT_EQ(split("gpt2", "\xC0\xAF!"), (Pretokens{"\xC0\xAF!"}));              // overlong
  EXPECT_EQ(split("gpt2", "x\xED\xA0\x80"), (Pretokens{"x", "\xED\xA0\x80"}));  // surrogate
  EXPECT_EQ(split(R"(\w+)", "ab\xFFzz"), (Pretokens{"ab", "\xFF", "zz"}));
}

TEST(Pretokenizer, CutsSafely) {
  std::mt19937 random(5);
  for (const std::string name : {"gpt2", "gpt4", "gpt4-classic", "o200k", kQwen2}) {
    const Pretokenizer pretokenizer(name);
    for (int round = 0; round < 2000; ++round) {
      std::string text;
      for (size_t n = random() % 30; n > 0; --n) text += "a' \ns1!B/"[random() % 9];
      const size_t cut = pretokenizer.safe_split(text, random() % 10);
      Pretokens parts = split(name, std::string_view(text).substr(0, cut));
      for (std::string& pretoken : split(name, std::string_view(text).substr(cut))) parts.push_back(pretoken);
      ASSERT_EQ(parts, split(name, text)) << name << " \"" << text << "\" at " << cut;
    }
  }
  EXPECT_EQ(Pretokenizer("none").safe_split("a b c", 1), 5u);
  EXPECT_EQ(Pretokenizer(kDigits).safe_split("a b c", 1), 5u);
}

TEST(Pretokenizer, ErrorsExplainWhatIsWrongWithAnExpression) {
  try {
    const Pretokenizer refused("a(b");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("\"a(b\""), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("at byte 3"), std::string::npos) << error.what();
  }
}

TEST(Pretokenizer, RefusesEndlessMatchingThatEachMatchAloneWouldFinish) {
  EXPECT_THAT([] { split("a*a*b|.", std::string(4000, 'a')); },
              testing::ThrowsMessage<DataError>(testing::HasSubstr("\"a*a*b|.\"")));
}

TEST(Pretokenizer, TakesLongRunsThatFewMatchesCover) {
  for (const std::string pattern : {R"(\s*[\r\n]+|\s+(?!\S)|\s+)", R"(.*?x|\s+)"}) {
    const std::string spaces(100'000, ' ');
    EXPECT_THAT(split(pattern, spaces), testing::ElementsAre(spaces)) << pattern;
  }
}

TEST(Pretokenizer, FindsMatchesFarFromThoseBefore) {
  const std::string far = "\u65e5" + std::string(5000, 'a');
  EXPECT_THAT(split("b", far + "b" + far), testing::ElementsAre(far, "b", far));
  EXPECT_THAT(split("\u65e5", far + far), testing::ElementsAre("\u65e5", far.substr(3), "\u65e5", far.substr(3)));
}

TEST(Pretokenizer, RefusesEndlessMatching) { EXPECT_THROW(split("(a|aa)+[bc]", std::string(5000, 'a')), DataError); }

}  // namespace
}  // namespace weft
