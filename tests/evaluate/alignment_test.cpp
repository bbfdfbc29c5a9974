// SPDX-License-Identifier: Apache-2.0
// Which words of a sentence and its translation belong together.
#include "evaluate/alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "data/prepare/specials.h"
#include "data/tokenizer/trainer.h"
#include "evaluate/text_attention.h"
#include "tests/evaluate/fixture.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(AlignmentHeads, AreReadAsTheyAreNamed) {
  const AlignmentHead head{.layer = 3, .head = 11, .token = AlignedToken::Read};
  EXPECT_EQ(text_of(head), "3:11:read");
  EXPECT_EQ(alignment_head("3:11:read"), head);
  EXPECT_EQ(alignment_head("0:0:predicted"), AlignmentHead{});
  for (const char* wrong : {"", "3", "3:", "3:11", "3:11:", "3:11:reads", "3:-1:read", "-3:1:read", "x:1:read",
                            "3;1:read", "3:1read", "99999999999:0:read", " 3:1:read"}) {
    EXPECT_THAT(error_of<ConfigError>([&] { alignment_head(wrong); }), HasSubstr("is no head of cross-attention"))
        << wrong;
  }
}

TEST(MosesForm, CountsBothSidesFromZero) {
  EXPECT_EQ(moses_line({}), "");
  EXPECT_EQ(moses_line({{0, 1}, {2, 0}}), "0-1 2-0");
}

// A source of three tokens and a special, and a translation of two. Head 0 looks for the token that a row predicts,
// head 1 for the one that it reads, head 2 at the special.
AttentionMaps three_heads() {
  AttentionMap map{.kind = AttentionKind::Cross, .layer = 1, .heads = 3, .queries = 3, .keys = 4};
  map.weights = {0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1,  // predicted: source tokens 2, 0
                 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0,  // read: the same
                 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  return {.source = {.ids = {5, 6, 7, 1}}, .text = {.ids = {0, 8, 9}}, .maps = {map}};
}

TEST(AlignmentScores, AreSharesOfWhatThePredictionDependsOn) {
  const std::vector<double> importance{0, 1, 3, 0, 2, 0, 0, 0};
  const std::vector<ScoredHead> scored = scored_heads(three_heads(), importance);
  ASSERT_EQ(scored.size(), 6u);
  EXPECT_EQ(scored[0].head, (AlignmentHead{.layer = 1, .head = 0, .token = AlignedToken::Predicted}));
  const auto score = [&](size_t i) { return scored[i].score; };
  EXPECT_DOUBLE_EQ(score(0), (0.75 + 1) / 2);
  EXPECT_DOUBLE_EQ(score(1), 0);
  EXPECT_DOUBLE_EQ(score(2), 0.125);
  EXPECT_DOUBLE_EQ(score(3), (0.75 + 1) / 2);
  EXPECT_DOUBLE_EQ(score(4), 0);
  EXPECT_EQ(best_of(scored).head, scored[0].head) << "the first of equals";
  EXPECT_DOUBLE_EQ(scored_heads(three_heads(), std::vector<double>(8))[0].score, 0);
}

// A token's word is that of the first character in it which is no blank.
TEST(AlignedWords, StandBetweenBlanks) {
  TokenizerTrainer trainer({.kind = TokenizerKind::Bytes, .specials = {"</s>"}, .eos = "</s>"}, 1);
  const auto tokenizer = trainer.finish();
  std::vector<int32_t> tokens = tokenizer->encode(" ab  c\xc3\xa9\n");
  tokens.push_back(*tokenizer->special(SpecialRole::Eos));
  const Words found = words_of(*tokenizer, tokens);
  EXPECT_THAT(found.words, ElementsAre("ab", "c\xc3\xa9"));
  EXPECT_THAT(found.of_token, ElementsAre(-1, 0, 0, -1, -1, 1, 1, 1, -1, -1));
  EXPECT_TRUE(words_of(*tokenizer, {}).words.empty());
}

// A translation model whose last letter is decided by the source's second one.
struct AlignedLines : BleuRun {
  void SetUp() override {
    BleuRun::SetUp();
    train();
    model = std::make_unique<LoadedModel>(load_model(context, mesh, job.run_directory()));
  }
  std::vector<int32_t> source(const std::string& text) const {
    return encode_source(text, *model->source_tokenizer, job.data);
  }
  std::vector<int32_t> target(const std::string& text) const { return model->target_tokenizer->encode(text); }

  Context context{Device{}, 1};
  Mesh mesh = Mesh::single();
  std::unique_ptr<LoadedModel> model;
};

TEST_F(AlignedLines, ATokenDependsOnWhatMakesItLessLikelyWhereItIsLeftOut) {
  const TextGenerator generator = text_generator(*model);
  const std::vector<int32_t> whole = source("x1y2"), translation = target("abcdabqr");
  const std::vector<double> importance = source_importance(generator, whole, translation);
  ASSERT_EQ(importance.size(), translation.size() * whole.size());
  const auto log_probabilities = [&](std::vector<int32_t> of) {
    return generator
        .translate({.sources = {std::move(of)}, .prefixes = {translation}}, {.method = SearchMethod::Greedy})
        .at(0)
        .at(0)
        .token_log_probabilities;
  };
  const std::vector<double> with = log_probabilities(whole), without = log_probabilities(source("xy2"));
  for (size_t j = 0; j < translation.size(); ++j) {
    EXPECT_NEAR(importance[j * 5 + 1], std::max(0.0, with[j] - without[j]), 1e-9);
    EXPECT_EQ(importance[j * 5 + 4], 0) << "the end token is never left out";
  }
  const std::vector<double> alone = source_importance(generator, source("x"), target("ab"));
  EXPECT_THAT(alone, ElementsAre(1, 0, 1, 0));
}

TEST_F(AlignedLines, HaveALineOfLinksEach) {
  LineAligner aligner(*model);
  const std::vector<Links> none = aligner.align({" "}, {target("ab")});
  EXPECT_THAT(none, ElementsAre(Links{}));
  EXPECT_FALSE(aligner.head());
  const std::vector<std::string> lines{"x1y2", "", "x3y4"};
  const std::vector<std::vector<int32_t>> translations{target("abcdabqr"), {}, target("abcdabsp")};
  const std::vector<Links> found = aligner.align(lines, translations);
  ASSERT_TRUE(aligner.head());
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[1].empty());
  // A line's links depend on its text and the head alone.
  LineAligner again(*model, aligner.head());
  EXPECT_EQ(again.align({lines[2]}, {translations[2]})[0], found[2]);
  LineAligner wrong(*model, AlignmentHead{.layer = 7});
  EXPECT_EQ(error_of<ConfigError>([&] { wrong.align({lines[0]}, {translations[0]}); }),
            "the model has no head 0 of cross-attention in layer 7 [layers and heads are counted from 0]");
}

TEST_F(AlignedLines, TokensAreLinkedToTheHeaviest) {
  AttentionMaps maps = three_heads();
  maps.source.ids = source("x1y"), maps.text.ids = target("abc");
  const Alignment predicted = aligned(*model, maps, {.layer = 1, .head = 0});
  EXPECT_EQ(predicted.tokens, (Links{{0, 1}, {2, 0}}));
  EXPECT_EQ(predicted.words, (Links{{0, 0}})) << "x1y and bc are one word each";
  EXPECT_EQ(aligned(*model, maps, {.layer = 1, .head = 1, .token = AlignedToken::Read}).tokens, predicted.tokens);
  EXPECT_TRUE(aligned(*model, maps, {.layer = 1, .head = 2}).tokens.empty()) << "a special";
}

}  // namespace
}  // namespace weft
