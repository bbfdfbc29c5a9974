// SPDX-License-Identifier: Apache-2.0
// Texts that outgrow the model's positions.
#include "generate/search/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/generate/search/fixture.h"

namespace weft {
namespace {

using namespace test;

TEST(Window, DropsItsOldestHalfWhenItIsFull) {
  for (int64_t length = 1; length <= 8; ++length) EXPECT_EQ(window_start(length, 8), 0);
  for (int64_t length = 9; length <= 12; ++length) EXPECT_EQ(window_start(length, 8), 4);
  EXPECT_EQ(window_start(13, 8), 8);
  for (const int64_t positions : {1, 2, 3, 7, 64}) {
    for (int64_t length = 1; length < 5 * positions; ++length) {
      const int64_t seen = length - window_start(length, positions);
      EXPECT_LE(seen, positions);
      EXPECT_GE(seen, length <= positions ? length : (positions + 1) / 2) << length << " of " << positions;
      EXPECT_GE(window_start(length + 1, positions), window_start(length, positions));
    }
  }
}

// The text of a sentence of the toy language, each token from its window alone.
std::vector<int32_t> greedy_text(const ToyLanguage& language, const SearchInput& input, int64_t count) {
  std::vector<int32_t> history = input.prompt;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t start = window_start(std::ssize(history), language.max_length);
    const std::vector<float> logits = language.logits(input.id, {history.begin() + start, history.end()});
    history.push_back(static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin()));
  }
  return {history.begin() + std::ssize(input.prompt), history.end()};
}

std::vector<SearchInput> prompts_of_many_lengths() {
  std::vector<SearchInput> inputs;
  for (int64_t i = 0; i < 9; ++i) {
    inputs.push_back({.id = i, .prompt = std::vector<int32_t>(static_cast<size_t>(1 + 5 * i % 23), 1)});
  }
  return inputs;
}

TEST(Window, AGreedyTextIsThatOfWindowsReadAgain) {
  for (const int64_t positions : {1, 2, 5, 16}) {
    const ToyLanguage language{.max_length = positions};
    const std::vector<SearchInput> inputs = prompts_of_many_lengths();
    for (const int64_t at_once : {1, 3, 64}) {
      const SearchConfig config{
          .method = SearchMethod::Greedy, .max_length_factor = 0, .max_length_extra = 50, .batch_sentences = at_once};
      const auto found = search(inputs, toy_factory(language), config, {});
      for (size_t i = 0; i < inputs.size(); ++i) {
        EXPECT_EQ(found[i][0].tokens, greedy_text(language, inputs[i], 50)) << positions << " positions";
        EXPECT_EQ(found[i][0].ending, Ending::MaxLength);
      }
    }
  }
}

// The samples of an input share its prompt, and slide at the same time.
TEST(Window, ASampleDoesNotDependOnBatchesOrOnOtherSamples) {
  const ToyLanguage language{.max_length = 6};
  const std::vector<SearchInput> inputs = prompts_of_many_lengths();
  SearchConfig config{
      .method = SearchMethod::Sample, .max_length_factor = 0, .max_length_extra = 30, .batch_sentences = 1};
  const auto alone = search(inputs, toy_factory(language), config, {.end = 0});
  config.n_best = 3, config.batch_sentences = 4;
  const auto together = search(inputs, toy_factory(language), config, {.end = 0});
  size_t longest = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(alone[i][0].tokens, together[i][0].tokens);
    EXPECT_EQ(alone[i][0].token_log_probabilities, together[i][0].token_log_probabilities);
    longest = std::max(longest, alone[i][0].tokens.size());
  }
  EXPECT_GT(longest, 12u) << "no window slid twice";
}

TEST(Window, RulesReadTheWholeText) {
  const ToyLanguage language{.max_length = 4};
  const SearchConfig config{
      .method = SearchMethod::Greedy, .no_repeat_ngram = 2, .max_length_factor = 0, .max_length_extra = 1000};
  const auto found = search(std::vector<SearchInput>{{.prompt = {1}}}, toy_factory(language), config, {});
  EXPECT_EQ(found[0][0].ending, Ending::Blocked) << "5 tokens make 25 pairs, and each pair occurs once";
  EXPECT_LE(found[0][0].tokens.size(), 25u);
  EXPECT_GT(found[0][0].tokens.size(), 8u);
}

TEST(Window, ATranslationEndsWithThePositions) {
  const ToyLanguage language{.max_length = 6, .forced = {{0, -std::numeric_limits<float>::infinity()}}};
  for (const SearchMethod method : {SearchMethod::Beam, SearchMethod::Greedy, SearchMethod::Sample}) {
    const auto found =
        search(toy_inputs(3, 4, 1), toy_factory(language), {.method = method, .max_length_extra = 1000}, {.end = 0});
    for (const NBest& texts : found) EXPECT_EQ(texts[0].tokens.size(), 6u);
  }
}

}  // namespace
}  // namespace weft
