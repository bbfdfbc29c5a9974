// SPDX-License-Identifier: Apache-2.0
// How a text that a model continues becomes its first tokens.
#include <gtest/gtest.h>

#include "base/error.h"
#include "generate/text_generator.h"
#include "tests/data/tokenizer/fixture/make_tokenizer.h"

namespace weft {
namespace {

using Ids = std::vector<int32_t>;

TEST(Prompt, BeginsAsDocumentsDo) {
  const TokenizerPtr tokenizer = test::train_tokenizer(
      {.kind = TokenizerKind::Bytes, .specials = {"<s>", "</s>"}, .bos = "<s>", .eos = "</s>"}, {}, 1);
  DataConfig data;
  EXPECT_EQ(encode_prompt("ab", *tokenizer, data), (Ids{'a', 'b'}));
  EXPECT_EQ(encode_prompt("", *tokenizer, data), Ids{257});  // the end of a document before it
  EXPECT_EQ(encode_prompt("a</s>", *tokenizer, data, {.recognise_specials = true}), (Ids{'a', 257}));
  data.source_bos = true;
  EXPECT_EQ(encode_prompt("ab", *tokenizer, data), (Ids{256, 'a', 'b'}));
  EXPECT_EQ(encode_prompt("", *tokenizer, data), Ids{256});
}

TEST(Prompt, WithoutATokenIsRefused) {
  const TokenizerPtr tokenizer = test::train_tokenizer({.kind = TokenizerKind::Bytes}, {}, 1);
  EXPECT_THROW(encode_prompt("", *tokenizer, {}), DataError);
  DataConfig data;
  data.source_bos = true;
  EXPECT_THROW(encode_prompt("a", *tokenizer, data), ConfigError);
}

}  // namespace
}  // namespace weft
