// SPDX-License-Identifier: Apache-2.0
#include "generate/search/search.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/error.h"
#include "generate/search/rules.h"
#include "tests/generate/search/fixture.h"

namespace weft {
namespace {

using namespace test;

template <class E, class F>
std::string error_of(F call) {
  try {
    call();
  } catch (const E& error) {
    return describe(error);
  }
  return "no error";
}

TEST(Search, AnEmptySourceGivesAnEmptyTextWithoutAskingTheModel) {
  const ToyLanguage language;
  std::vector<SearchInput> inputs = toy_inputs(3, 4, 1);
  inputs[1].source_length = 0;
  for (const SearchMethod method : {SearchMethod::Beam, SearchMethod::Greedy, SearchMethod::Sample}) {
    const auto found = search(inputs, toy_factory(language), {.method = method}, {.end = 0});
    ASSERT_EQ(found[1].size(), 1u);
    EXPECT_EQ(found[1][0].ending, Ending::EmptySource);
    EXPECT_TRUE(found[1][0].tokens.empty());
    EXPECT_EQ(found[1][0].score, 0);
    EXPECT_NE(found[0][0].ending, Ending::EmptySource);
  }
  inputs.resize(2);
  inputs[0].source_length = 0;
  const ModelFactory never = [](const DecodingBatch&) -> std::unique_ptr<NextTokenModel> {
    throw std::logic_error("no model is needed");
  };
  EXPECT_EQ(search(inputs, never, {}, {.end = 0}).size(), 2u);
  EXPECT_TRUE(search({}, never, {}, {.end = 0}).empty());
}

TEST(Search, MaximalLengthIsFactorTimesSourcePlusExtra) {
  ToyLanguage language;
  language.forced = {{0, -std::numeric_limits<float>::infinity()}};
  std::vector<SearchInput> inputs = toy_inputs(6, 9, 1);
  inputs.push_back({.id = 9, .prompt = {1, 2, 3}});
  for (const SearchMethod method : {SearchMethod::Beam, SearchMethod::Greedy, SearchMethod::Sample}) {
    const auto found = search(inputs, toy_factory(language),
                              {.method = method, .max_length_factor = 1.5, .max_length_extra = 2}, {.end = 0});
    for (size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_EQ(found[i][0].tokens.size(), static_cast<size_t>(1.5 * inputs[i].source_length.value_or(0) + 2));
      EXPECT_EQ(found[i][0].ending, Ending::MaxLength);
    }
  }
  // A text has at least one token, and at most as many as the positions allow: the last token is not fed.
  language.max_length = 6;
  EXPECT_EQ(max_new_tokens({.max_length_factor = 0, .max_length_extra = 0}, inputs[0], 6), 1);
  const auto found = search(inputs, toy_factory(language), {.max_length_extra = 1000}, {.end = 0});
  EXPECT_EQ(found[0][0].tokens.size(), 6u);
  EXPECT_EQ(found[6][0].tokens.size(), 4u);
  // Without an end token every text runs to its maximal length.
  language.forced.clear();
  for (const auto& texts : search(inputs, toy_factory(language), {.max_length_factor = 0, .max_length_extra = 3}, {})) {
    EXPECT_EQ(texts[0].tokens.size(), 3u);
  }
}

TEST(Search, MinimalLengthHoldsTheEndBack) {
  ToyLanguage language;
  language.forced = {{0, 50.f}};  // the end token is nearly certain
  const auto inputs = toy_inputs(3, 4, 1);
  for (const SearchMethod method : {SearchMethod::Beam, SearchMethod::Greedy, SearchMethod::Sample}) {
    for (const int64_t minimum : {0, 1, 4}) {
      for (const NBest& texts :
           search(inputs, toy_factory(language), {.method = method, .min_length = minimum}, {.end = 0})) {
        EXPECT_EQ(static_cast<int64_t>(texts[0].tokens.size()), minimum);
        EXPECT_EQ(texts[0].ending, Ending::EndToken);
      }
    }
  }
}

TEST(Search, NoNgramOccursTwice) {
  for (const SearchMethod method : {SearchMethod::Beam, SearchMethod::Greedy, SearchMethod::Sample}) {
    for (const int64_t n : {1, 2, 3}) {
      const ToyLanguage language{.vocabulary = 4, .max_length = 200, .end_bias = -2};
      std::vector<SearchInput> inputs = toy_inputs(8, 9, 1);
      inputs[0].prompt = {1, 2, 3, 1};
      const auto found = search(inputs, toy_factory(language), {.method = method, .no_repeat_ngram = n}, {.end = 0});
      for (size_t k = 0; k < inputs.size(); ++k) {
        std::vector<int32_t> all = inputs[k].prompt;
        if (k == 0 && n == 1) all.pop_back();  // the prompt itself holds 1 twice
        all.insert(all.end(), found[k][0].tokens.begin(), found[k][0].tokens.end());
        std::set<std::vector<int32_t>> seen;
        for (size_t i = 0; i + n <= all.size(); ++i) {
          EXPECT_TRUE(seen.insert({all.begin() + i, all.begin() + i + n}).second);
        }
      }
    }
  }
  EXPECT_EQ(
      blocked_tokens({.no_repeat_ngram = 2}, {.end = 0}, std::vector<int32_t>{5, 6, 5}, std::vector<int32_t>{7, 5}),
      (std::vector<int32_t>{6, 7}));
  EXPECT_EQ(blocked_tokens({.no_repeat_ngram = 1, .min_length = 3}, {.end = 0, .suppressed = {9, 2}},
                           std::vector<int32_t>{0, 5}, std::vector<int32_t>{2}),
            (std::vector<int32_t>{0, 2, 5, 9}));
  EXPECT_EQ(blocked_tokens({.no_repeat_ngram = 3}, {.end = 0}, std::vector<int32_t>{5}, {}), std::vector<int32_t>{});
}

TEST(Search, ATextEndsWhereEveryTokenIsBlocked) {
  // Four tokens, none of them twice, and no end token: after the prompt and three more tokens none is left.
  const ToyLanguage language{.vocabulary = 4};
  const std::vector<SearchInput> inputs{{.id = 0, .prompt = {1}}, {.id = 1, .prompt = {2}}};
  for (const SearchMethod method : {SearchMethod::Beam, SearchMethod::Greedy, SearchMethod::Sample}) {
    for (const NBest& texts : search(inputs, toy_factory(language), {.method = method, .no_repeat_ngram = 1}, {})) {
      EXPECT_EQ(texts[0].tokens.size(), 3u);
      EXPECT_EQ(texts[0].ending, Ending::Blocked);
    }
    // If the end token is the only one left, the text ends with it.
    for (const NBest& texts :
         search(inputs, toy_factory(language), {.method = method, .beam = 1, .no_repeat_ngram = 1, .min_length = 2},
                {.end = 0})) {
      EXPECT_EQ(texts[0].ending, Ending::EndToken);
    }
    // If everything is suppressed, the text is empty.
    for (const NBest& texts :
         search(inputs, toy_factory(language), {.method = method}, {.end = 0, .suppressed = {0, 1, 2, 3}})) {
      EXPECT_TRUE(texts[0].tokens.empty());
      EXPECT_EQ(texts[0].ending, Ending::Blocked);
      EXPECT_EQ(texts[0].score, 0);
    }
  }
}

// A toy model that reports its number of rows at each step.
struct Watched : ToyModel {
  using ToyModel::ToyModel;
  std::function<void(int64_t rows)> on_advance;
  void advance(std::span<const int32_t> tokens, std::span<const int32_t> offsets) override {
    on_advance(num_rows());
    ToyModel::advance(tokens, offsets);
  }
};

TEST(Search, BatchesKeepTheLimitsAndRunTheLongestFirst) {
  const ToyLanguage language{.end_bias = 1};
  const auto inputs = toy_inputs(50, 13, 1);
  const SearchConfig config{
      .beam = 3, .max_length_factor = 2, .max_length_extra = 5, .batch_sentences = 8, .batch_tokens = 100};
  int64_t before = 1000, batches = 0, seen = 0, progress = 0;
  const ModelFactory factory = [&](const DecodingBatch& batch) {
    int64_t longest = 0, shortest = 1000;
    for (const int64_t i : batch.sentences) {
      longest = std::max(longest, *inputs[i].source_length), shortest = std::min(shortest, *inputs[i].source_length);
    }
    EXPECT_LE(longest, before);
    EXPECT_LE(batch.max_sentences, 8);
    EXPECT_LE(longest * batch.max_rows, 100);
    EXPECT_LT(shortest * batch.max_rows, 300);  // otherwise a batch of twice as many rows would fit
    EXPECT_EQ(batch.max_rows, 3 * batch.max_sentences);
    EXPECT_EQ(batch.capacity, 1 + 2 * longest + 5 - 1);
    before = longest;
    ++batches;
    seen += static_cast<int64_t>(batch.sentences.size());
    auto model = std::make_unique<Watched>(language, batch.sentences, batch.max_rows);
    model->on_advance = [most = batch.max_rows](int64_t rows) { EXPECT_LE(rows, most); };
    return model;
  };
  search(inputs, factory, config, {.end = 0}, {.progress = [&](int64_t done) { EXPECT_EQ(done, ++progress); }});
  EXPECT_EQ(progress, 50);
  EXPECT_EQ(seen, 50);
  EXPECT_EQ(batches, 3);
  // A sentence over the limit has a batch of its own.
  SearchConfig tiny = config;
  tiny.batch_tokens = 1;
  search(std::span(inputs).first(5),
         [&](const DecodingBatch& batch) {
           EXPECT_EQ(batch.max_sentences, 1);
           return std::make_unique<ToyModel>(language, batch.sentences, batch.max_rows);
         },
         tiny, {.end = 0});
}

// The next input begins when a text ends: texts are those of one input at a time, in fewer steps than batches that
// wait for their longest text would take.
TEST(Search, AnInputThatEndsMakesRoomForTheNext) {
  const ToyLanguage language{.end_bias = 1};
  std::vector<SearchInput> inputs;
  for (int64_t i = 0; i < 60; ++i) inputs.push_back({.id = i, .prompt = {1, static_cast<int32_t>(2 + i % 3)}});
  for (const SearchMethod method : {SearchMethod::Beam, SearchMethod::Greedy, SearchMethod::Sample}) {
    SearchConfig config{.method = method, .beam = 2, .max_length_extra = 30, .batch_sentences = 6};
    if (method == SearchMethod::Sample) config.n_best = 2;
    int64_t steps = 0, rows = 0, most = 0;
    const ModelFactory factory = [&](const DecodingBatch& batch) {
      auto model = std::make_unique<Watched>(language, batch.sentences, batch.max_rows);
      model->on_advance = [&](int64_t alive) { ++steps, rows += alive, most = std::max(most, alive); };
      return model;
    };
    const auto together = search(inputs, factory, config, {.end = 0});
    EXPECT_LE(most, method == SearchMethod::Greedy ? 6 : 12);
    config.batch_sentences = 1;
    int64_t waiting = 0;  // steps of batches of six that end with their longest text
    for (size_t i = 0; i < inputs.size(); i += 6) {
      int64_t longest = 0;
      for (size_t j = i; j < i + 6; ++j) {
        const int64_t before = steps;
        expect_same(search({&inputs[j], 1},
                           [&](const DecodingBatch&) {
                             auto model =
                                 std::make_unique<Watched>(language, std::vector<int64_t>{static_cast<int64_t>(j)});
                             model->on_advance = [&](int64_t) { ++steps; };
                             return model;
                           },
                           config, {.end = 0})[0],
                    together[j]);
        longest = std::max(longest, steps - before);
        steps = before;
      }
      waiting += longest;
    }
    EXPECT_LT(steps, waiting) << enum_name(method);
  }
}

TEST(Search, ARepetitionPenaltyAsksForWhatPromptAndTextHold) {
  const SearchInput input{.prompt = {4, 1, 4}};
  const std::vector<int32_t> text{1, 2};
  const TokenQuestion question = question_of({.repetition_penalty = 4}, {.suppressed = {3}}, input, text, 6);
  EXPECT_EQ(question.repeated, (std::vector<int32_t>{1, 2, 4}));
  EXPECT_EQ(question.blocked, std::vector<int32_t>{3});
  EXPECT_EQ(question.row, 6);
  EXPECT_TRUE(question_of({}, {}, input, text, 0).repeated.empty());
}

// A text's log-probability stays the model's own; the penalty only decides what is chosen.
TEST(Search, AGreedyTextUnderARepetitionPenalty) {
  const ToyLanguage language{.vocabulary = 9, .spread = 4};
  const auto inputs = toy_inputs(20, 6, 1);
  const SearchConfig config{.method = SearchMethod::Greedy, .repetition_penalty = 1.4};
  const auto found = search(inputs, toy_factory(language), config, {});
  for (const SearchInput& input : inputs) {
    const Hypothesis& text = found[input.id][0];
    std::vector<int32_t> history = input.prompt;
    double log_probability = 0;
    for (const int32_t token : text.tokens) {
      const std::vector<float> logits = language.logits(input.id, history);
      std::vector<float> scores = logits;
      for (const int32_t seen : std::set<int32_t>(history.begin(), history.end())) {
        scores[seen] = scores[seen] > 0 ? scores[seen] / 1.4f : scores[seen] * 1.4f;
      }
      EXPECT_EQ(token, std::ranges::max_element(scores) - scores.begin());
      log_probability += log_softmax(logits, token);
      history.push_back(token);
    }
    EXPECT_NEAR(text.log_probability, log_probability, 1e-5);
  }
}

TEST(Search, ATextThatStopsEndsThereAndIsComplete) {
  const ToyLanguage language{.vocabulary = 9};
  const auto inputs = toy_inputs(20, 6, 1);
  const SearchTokens tokens{.end = 0, .stops = [](std::span<const int32_t> text) { return text.back() == 3; }};
  for (const SearchMethod method : {SearchMethod::Beam, SearchMethod::Greedy, SearchMethod::Sample}) {
    int stopped = 0;
    for (const NBest& texts : search(inputs, toy_factory(language), {.method = method}, tokens)) {
      const Hypothesis& text = texts[0];
      const auto at = std::ranges::find(text.tokens, 3);
      EXPECT_EQ(at != text.tokens.end(), text.ending == Ending::StopString);
      if (at == text.tokens.end()) continue;
      EXPECT_EQ(at, text.tokens.end() - 1);
      EXPECT_NEAR(text.score, text.log_probability / static_cast<double>(text.tokens.size()), 1e-9);
      ++stopped;
    }
    EXPECT_GT(stopped, 3);
  }
}

TEST(Search, AListenerGetsATextAsItGrows) {
  const ToyLanguage language{.vocabulary = 9};
  const auto inputs = toy_inputs(5, 6, 1);
  std::vector<std::vector<int32_t>> heard(inputs.size());
  const auto found = search(inputs, toy_factory(language), {.method = SearchMethod::Sample, .n_best = 2}, {.end = 0},
                            {.grown = [&](int64_t input, std::span<const int32_t> text) {
                              ASSERT_EQ(text.size(), heard[input].size() + 1);
                              heard[input].assign(text.begin(), text.end());
                            }});
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<int32_t> all = found[i][0].tokens;
    if (found[i][0].ending == Ending::MaxLength) all.pop_back();  // the text ended with its last token
    EXPECT_EQ(heard[i], all);
  }
}

TEST(Search, RefusesUnsupportedOptions) {
  const ToyLanguage language{.max_length = 4};
  const auto with = [&](SearchConfig config, std::vector<SearchInput> inputs, SearchTokens tokens = {.end = 0}) {
    return [=, &language] { search(inputs, toy_factory(language), config, tokens); };
  };
  const std::vector<SearchInput> good{{.id = 7, .prompt = {1}}};
  EXPECT_NE(error_of<ConfigError>(with({.beam = 2, .n_best = 3}, good)).find("n_best 3 is more than beam 2"),
            std::string::npos);
  EXPECT_NE(error_of<ConfigError>(with({.method = SearchMethod::Greedy, .n_best = 2}, good)).find("greedy"),
            std::string::npos);
  EXPECT_NE(error_of<ConfigError>(with({.top_p = 1.5}, good)).find("top_p 1.5"), std::string::npos);
  EXPECT_NE(error_of<ConfigError>(with({.temperature = -1}, good)).find("temperature -1"), std::string::npos);
  EXPECT_NE(error_of<ConfigError>(with({.repetition_penalty = 0}, good)).find("repetition_penalty 0"),
            std::string::npos);
  EXPECT_NE(error_of<ConfigError>(with({.stop_strings = {"a", ""}}, good)).find("stop_strings is empty"),
            std::string::npos);
  EXPECT_NE(error_of<ConfigError>(with({.beam = 0}, good)).find("beam 0"), std::string::npos);
  EXPECT_NE(error_of<ConfigError>(with({.batch_tokens = 0}, good)).find("batch_tokens 0"), std::string::npos);
  EXPECT_NE(error_of<ConfigError>(with({}, {{.id = 7, .prompt = {1, 1, 1, 1, 1}}}))
                .find("input 7 has 5 tokens, the model 4 positions"),
            std::string::npos);
  EXPECT_NE(error_of<InternalError>(with({}, {{.id = 7}})).find("input 7 has no prompt"), std::string::npos);
  EXPECT_NE(error_of<InternalError>(with({}, good, {.end = 5})).find("end token 5"), std::string::npos);
  EXPECT_NE(error_of<InternalError>(with({}, good, {.end = 0, .suppressed = {-1}})).find("suppressed token -1"),
            std::string::npos);
}

TEST(Search, LogitsThatAreNotNumbersAreAnError) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    ToyLanguage language;
    language.forced = {{3, bad}};
    for (const SearchMethod method : {SearchMethod::Beam, SearchMethod::Greedy, SearchMethod::Sample}) {
      EXPECT_THROW(search(toy_inputs(2, 3, 1), toy_factory(language), {.method = method}, {.end = 0}), DivergenceError);
    }
  }
}

TEST(Search, PenaltiesAreTheDocumentedFormulas) {
  const SearchConfig power{.length_penalty = 0.6}, gnmt{.length_penalty = 0.6, .penalty_form = PenaltyForm::Gnmt};
  EXPECT_DOUBLE_EQ(length_normalized(power, -6, 8), -6 / std::pow(8, 0.6));
  EXPECT_DOUBLE_EQ(length_normalized(gnmt, -6, 7), -6 / std::pow(2, 0.6));
  EXPECT_DOUBLE_EQ(length_normalized({.length_penalty = 0}, -6, 8), -6);
  EXPECT_DOUBLE_EQ(length_normalized(power, 0, 0), 0);
}

TEST(Search, HypothesesAsJson) {
  const nlohmann::json json = Hypothesis{.tokens = {4, 5},
                                         .token_log_probabilities = {-1, -0.5},
                                         .log_probability = -1.5,
                                         .score = -0.5,
                                         .ending = Ending::MaxLength};
  EXPECT_EQ(
      json.dump(),
      R"({"ending":"max_length","log_probability":-1.5,"score":-0.5,"token_log_probabilities":[-1.0,-0.5],"tokens":[4,5]})");
  EXPECT_EQ(nlohmann::json(json.get<Hypothesis>()), json);
}

}  // namespace
}  // namespace weft
