// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "tests/generate/search/fixture.h"

namespace weft {
namespace {

using namespace test;

// Finds every text that the rules allow, ranked as beam search ranks: complete before cut, then by score.
class Exhaustive {
 public:
  Exhaustive(const ToyLanguage& language, const SearchConfig& config, int64_t sentence, int64_t max_new)
      : language_(language), config_(config), sentence_(sentence), max_new_(max_new) {}

  NBest run(int32_t start) {
    grow({start}, 0, 0);
    std::stable_sort(found_.begin(), found_.end(), [](const Hypothesis& a, const Hypothesis& b) {
      const bool complete_a = a.ending == Ending::EndToken, complete_b = b.ending == Ending::EndToken;
      return complete_a != complete_b ? complete_a : a.score > b.score;
    });
    if (static_cast<int64_t>(found_.size()) > config_.n_best) found_.resize(config_.n_best);
    return found_;
  }

 private:
  void grow(const std::vector<int32_t>& history, double log_probability, double ranking) {
    const std::vector<float> logits = language_.logits(sentence_, history);
    const auto generated = static_cast<int64_t>(history.size()) - 1;
    bool any = false;
    for (int32_t v = 0; v < language_.vocabulary; ++v) {
      const double step = log_softmax(logits, v), sum = log_probability + step;
      const bool seen = std::ranges::find(history, v) != history.end();
      const double ranked = ranking + step * (seen ? config_.repetition_penalty : 1);  // a log-probability is negative
      std::vector<int32_t> longer = history;
      longer.push_back(v);
      if (v == language_.end) {
        if (generated < config_.min_length) continue;
        add(history, sum, ranked, Ending::EndToken);
      } else if (repeats(longer)) {
        continue;
      } else if (generated + 1 == max_new_) {
        add(longer, sum, ranked, Ending::MaxLength);
      } else {
        grow(longer, sum, ranked);
      }
      any = true;
    }
    if (!any) add(history, log_probability, ranking, Ending::Blocked);
  }

  bool repeats(const std::vector<int32_t>& history) const {
    const auto n = config_.no_repeat_ngram;
    if (n == 0 || static_cast<int64_t>(history.size()) < n) return false;
    return std::search(history.begin(), history.end() - 1, history.end() - n, history.end()) != history.end() - 1;
  }

  void add(const std::vector<int32_t>& history, double log_probability, double ranking, Ending ending) {
    const auto length = static_cast<double>(history.size() - 1 + (ending == Ending::EndToken));
    const double base = config_.penalty_form == PenaltyForm::Gnmt ? (5 + length) / 6 : length;
    const double score = length == 0 ? 0 : ranking / std::pow(base, config_.length_penalty);
    found_.push_back({.tokens = {history.begin() + 1, history.end()},
                      .log_probability = log_probability,
                      .score = score,
                      .ending = ending});
  }

  const ToyLanguage& language_;
  const SearchConfig& config_;
  int64_t sentence_, max_new_;
  NBest found_;
};

TEST(BeamSearch, WideBeamIsExhaustiveSearch) {
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    const ToyLanguage language{.vocabulary = 2 + static_cast<int64_t>(random() % 3),
                               .seed = random(),
                               .spread = 1.0 + random() % 6,
                               .end_bias = static_cast<double>(random() % 3) - 1};
    const double alphas[] = {0, 0.6, 1, 2};
    const SearchConfig config{.beam = 400,
                              .n_best = 5,
                              .length_penalty = alphas[random() % 4],
                              .penalty_form = random() % 2 ? PenaltyForm::Gnmt : PenaltyForm::Power,
                              .stop = StopRule::Bound,
                              .no_repeat_ngram = static_cast<int64_t>(random() % 4),
                              .repetition_penalty = random() % 2 ? 1.0 : 0.7 + 0.1 * static_cast<double>(random() % 9),
                              .min_length = static_cast<int64_t>(random() % 3),
                              .max_length_factor = 0,
                              .max_length_extra = 1 + static_cast<int64_t>(random() % 5)};
    const std::vector<int64_t> sentences{3};
    ToyModel model(language, sentences);
    const std::vector<SearchInput> inputs{{.id = 3, .prompt = {1}, .source_length = 4}};
    const NBest found = search_batch(model, inputs, config, {.end = 0}).front();
    const NBest expected = Exhaustive(language, config, 3, config.max_length_extra).run(1);
    ASSERT_EQ(found.size(), expected.size()) << round;
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].tokens, expected[i].tokens) << round;
      EXPECT_EQ(found[i].ending, expected[i].ending) << round;
      EXPECT_NEAR(found[i].score, expected[i].score, 1e-5) << round;
      EXPECT_NEAR(found[i].log_probability, expected[i].log_probability, 1e-5) << round;
    }
  }
}

TEST(BeamSearch, TextDoesNotDependOnBatchSizeOrderOrNBest) {
  std::mt19937 random(12);
  for (int round = 0; round < 200; ++round) {
    const ToyLanguage language{.vocabulary = 3 + static_cast<int64_t>(random() % 20),
                               .seed = random(),
                               .steps = static_cast<int>(random() % 3),  // 1 and 2 make many ties
                               .end_bias = static_cast<double>(random() % 4)};
    SearchConfig config{.beam = 1 + static_cast<int64_t>(random() % 6),
                        .stop = random() % 2 ? StopRule::Full : StopRule::Bound,
                        .no_repeat_ngram = static_cast<int64_t>(random() % 4),
                        .max_length_extra = 3};
    config.n_best = config.beam;
    std::vector<SearchInput> inputs = toy_inputs(1 + static_cast<int64_t>(random() % 12), 6, 1);
    const SearchTokens tokens{.end = 0, .suppressed = {1}};
    const auto together = search(inputs, toy_factory(language), config, tokens);

    SearchConfig one = config;
    one.batch_sentences = 1;
    one.n_best = 1;
    const auto alone = search(inputs, toy_factory(language), one, tokens);
    for (size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_FALSE(together[i].empty());
      expect_same({together[i].front()}, alone[i]);
    }

    std::vector<size_t> order(inputs.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::vector<SearchInput> shuffled;
    for (const size_t i : order) shuffled.push_back(inputs[i]);
    const auto factory = [&](const DecodingBatch& batch) {
      std::vector<int64_t> sentences;
      for (const int64_t i : batch.sentences) sentences.push_back(static_cast<int64_t>(order[i]));
      return std::make_unique<ToyModel>(language, sentences, batch.max_rows);
    };
    config.batch_tokens = 1 + static_cast<int64_t>(random() % 60);
    const auto mixed = search(shuffled, factory, config, tokens);
    for (size_t i = 0; i < order.size(); ++i) expect_same(mixed[i], together[order[i]]);
  }
}

TEST(BeamSearch, BeamOfOneIsGreedySearch) {
  std::mt19937 random(13);
  for (int round = 0; round < 200; ++round) {
    const ToyLanguage language{.vocabulary = 7, .seed = random(), .steps = round % 2, .end_bias = 1};
    const auto inputs = toy_inputs(5, 4, 1);
    SearchConfig config{.beam = 1, .no_repeat_ngram = round % 4, .min_length = round % 3};
    const auto beam = search(inputs, toy_factory(language), config, {.end = 0});
    config.method = SearchMethod::Greedy;
    const auto greedy = search(inputs, toy_factory(language), config, {.end = 0});
    for (size_t i = 0; i < inputs.size(); ++i) expect_same(beam[i], greedy[i]);
  }
}

TEST(BeamSearch, StopRuleBoundIsNeverWorseAndFullStopsEarlier) {
  std::mt19937 random(14);
  int64_t calls_full = 0, calls_bound = 0;
  for (int round = 0; round < 200; ++round) {
    const ToyLanguage language{.vocabulary = 8, .seed = random(), .end_bias = 1};
    const std::vector<int64_t> sentences{0};
    const auto inputs = toy_inputs(1, 5, 1);
    SearchConfig config{.beam = 3, .max_length_extra = 20};
    ToyModel full(language, sentences), bound(language, sentences);
    const double score_full = search_batch(full, inputs, config, {.end = 0})[0][0].score;
    config.stop = StopRule::Bound;
    const double score_bound = search_batch(bound, inputs, config, {.end = 0})[0][0].score;
    EXPECT_GE(score_bound, score_full);
    calls_full += full.calls();
    calls_bound += bound.calls();
  }
  EXPECT_LT(calls_full, calls_bound);
}

TEST(BeamSearch, TiesGoToTheEarlierHypothesisAndTheSmallerToken) {
  // All tokens are alike: the best texts of length 3 are the first in dictionary order, without an end token.
  ToyLanguage language{.vocabulary = 4};
  language.forced = {{0, -std::numeric_limits<float>::infinity()}, {1, 0.f}, {2, 0.f}, {3, 0.f}};
  const std::vector<SearchInput> inputs{{.id = 0, .prompt = {1}}};
  const SearchConfig config{.beam = 4, .n_best = 4, .max_length_extra = 3};
  const auto found = search(inputs, toy_factory(language), config, {.end = 0}).front();
  std::vector<std::vector<int32_t>> texts;
  for (const Hypothesis& h : found) texts.push_back(h.tokens);
  EXPECT_EQ(texts, (std::vector<std::vector<int32_t>>{{1, 1, 1}, {1, 1, 2}, {1, 1, 3}, {1, 2, 1}}));
  EXPECT_EQ(found[0].ending, Ending::MaxLength);
}

TEST(BeamSearch, KeepsWhatEndedAndPrefersItToCutTranslations) {
  ToyLanguage language{.vocabulary = 4};
  language.forced = {{0, -4.f}, {1, 3.f}, {2, 2.f}, {3, 1.f}};  // the end is the least likely: texts run on
  std::vector<SearchInput> inputs{{.id = 0, .prompt = {1}, .source_length = 1}};
  const SearchConfig config{.beam = 4, .n_best = 4, .max_length_factor = 0, .max_length_extra = 2};
  const auto found = search(inputs, toy_factory(language), config, {.end = 0}).front();
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].ending, Ending::EndToken);
  EXPECT_TRUE(found[0].tokens.empty());
  EXPECT_LT(found[0].score, found[1].score);
  EXPECT_EQ(found[1].ending, Ending::MaxLength);
  // A text that continues a prompt is cut somewhere anyway: such texts rank by their scores alone.
  inputs[0].source_length.reset();
  const auto continued = search(inputs, toy_factory(language), config, {.end = 0}).front();
  ASSERT_EQ(continued.size(), 4u);
  EXPECT_EQ(continued[0].ending, Ending::MaxLength);
  for (size_t i = 1; i < continued.size(); ++i) EXPECT_GE(continued[i - 1].score, continued[i].score);
}

}  // namespace
}  // namespace weft
