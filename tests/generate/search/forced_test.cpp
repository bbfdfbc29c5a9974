// SPDX-License-Identifier: Apache-2.0
// Texts whose beginning is given, or which are given as a whole: the search scores them as if it had chosen them.
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "generate/search/search.h"
#include "tests/generate/search/fixture.h"

namespace weft {
namespace {

using namespace test;

constexpr int32_t kEnd = 0;

class ForcedText : public testing::TestWithParam<SearchMethod> {
 protected:
  SearchConfig config() const {
    SearchConfig config{.method = GetParam(), .beam = 4, .length_penalty = 0.7, .batch_sentences = 3};
    config.n_best = GetParam() == SearchMethod::Greedy ? 1 : 3;
    config.max_length_factor = 1, config.max_length_extra = 3;
    return config;
  }
  std::vector<NBest> run(const std::vector<SearchInput>& inputs) const {
    return search(inputs, toy_factory(language_), config(), {.end = kEnd, .suppressed = {1}});
  }

  ToyLanguage language_{.vocabulary = 7};
};

TEST_P(ForcedText, AForcedTextScoresAsTheSearchThatFoundIt) {
  const std::vector<SearchInput> inputs = toy_inputs(60, 6, 1);
  const auto found = run(inputs);
  size_t ended = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const Hypothesis& hypothesis : found[i]) {
      EXPECT_EQ(
          std::accumulate(hypothesis.token_log_probabilities.begin(), hypothesis.token_log_probabilities.end(), 0.0),
          hypothesis.log_probability);
      if (hypothesis.ending != Ending::EndToken) continue;
      ++ended;
      ToyModel model(language_, {&inputs[i].id, 1});
      SearchInput forced = inputs[i];
      forced.forced = hypothesis.tokens;
      forced.forced.push_back(kEnd);
      SearchConfig greedy = config();
      greedy.method = SearchMethod::Greedy, greedy.n_best = 1;
      const Hypothesis again = search_batch(model, {&forced, 1}, greedy, {.end = kEnd}).at(0).at(0);
      EXPECT_EQ(again.tokens, hypothesis.tokens);
      EXPECT_EQ(again.token_log_probabilities, hypothesis.token_log_probabilities);
      EXPECT_EQ(again.log_probability, hypothesis.log_probability);
      EXPECT_EQ(again.score, hypothesis.score);
      EXPECT_EQ(again.ending, Ending::EndToken);
    }
  }
  EXPECT_GT(ended, 6u);
}

TEST_P(ForcedText, AForcedPrefixIsContinued) {
  std::vector<SearchInput> inputs = toy_inputs(12, 6, 1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t n = 0; n < i % 4; ++n) inputs[i].forced.push_back(static_cast<int32_t>(1 + (i + n) % 6));
  }
  const auto found = run(inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<int32_t>& forced = inputs[i].forced;
    std::vector<int32_t> history{1};
    for (const Hypothesis& hypothesis : found[i]) {
      ASSERT_GE(hypothesis.tokens.size(), forced.size());
      EXPECT_TRUE(std::equal(forced.begin(), forced.end(), hypothesis.tokens.begin())) << i;
    }
    for (size_t n = 0; n < forced.size(); ++n) {  // also a forced token that no text may hold
      EXPECT_NEAR(found[i][0].token_log_probabilities.at(n),
                  log_softmax(language_.logits(inputs[i].id, history), forced[n]), 1e-6);
      history.push_back(forced[n]);
    }
  }
}

TEST_P(ForcedText, IsNotCutByTheLimitOfLength) {
  std::vector<SearchInput> inputs = toy_inputs(1, 1, 1);
  inputs[0].forced.assign(12, 3);
  EXPECT_EQ(run(inputs)[0][0].tokens.size(), 13u - (run(inputs)[0][0].ending == Ending::EndToken ? 1 : 0));
  // The start token has a position, the last token needs none.
  const auto most = static_cast<size_t>(language_.max_length);
  inputs[0].forced.assign(most, 3);
  EXPECT_EQ(run(inputs)[0][0].tokens, inputs[0].forced);
  inputs[0].forced.push_back(3);
  EXPECT_THROW(run(inputs), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Methods, ForcedText,
                         testing::Values(SearchMethod::Beam, SearchMethod::Greedy, SearchMethod::Sample),
                         [](const auto& method) { return std::string(enum_name(method.param)); });

}  // namespace
}  // namespace weft
