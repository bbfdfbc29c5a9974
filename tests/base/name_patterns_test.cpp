// SPDX-License-Identifier: Apache-2.0
#include "base/name_patterns.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace weft {
namespace {

const std::vector<std::string> kNames = {"decoder.embedding.tokens", "decoder.0.attention.qkv.weight",
                                         "decoder.11.ffn.up.bias", "decoder.final_norm.weight"};

TEST(NamePatterns, MatchAsShellPatternsDo) {
  EXPECT_TRUE(matches_pattern("decoder.embedding.*", kNames[0]));
  EXPECT_TRUE(matches_pattern("decoder.[0-5].*", kNames[1]));
  EXPECT_FALSE(matches_pattern("decoder.[0-5].*", kNames[2]));
  EXPECT_TRUE(matches_pattern("*.bias", kNames[2]));
  EXPECT_FALSE(matches_pattern("decoder", kNames[0])) << "the whole name";
  EXPECT_FALSE(matches_pattern("decoderXembedding.tokens", kNames[0])) << "a dot is a dot";
}

TEST(NamePatterns, APatternWithoutAMatchIsAnErrorWithTheNearestName) {
  EXPECT_NO_THROW(require_match("train.freeze", "*.qkv.*", "parameter", kNames));
  try {
    require_match("train.freeze", "decoder.embeding.*", "parameter", kNames);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "train.freeze: 'decoder.embeding.*' matches no parameter");
    EXPECT_TRUE(error.hint().starts_with("the nearest of 4 are decoder.embedding.tokens, ")) << error.hint();
  }
}

}  // namespace
}  // namespace weft
