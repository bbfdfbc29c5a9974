// SPDX-License-Identifier: Apache-2.0
#include "generate/search/sampling.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/generate/search/fixture.h"

namespace weft {
namespace {

using namespace test;

const std::vector<float> kLogits{0.f, 1.f, 2.f, -1.f, 0.5f, 2.f};

// The tokens that are drawn from one row of logits at these uniforms.
std::vector<int32_t> tokens_at(const std::vector<double>& uniforms, const std::vector<float>& logits,
                               const SearchConfig& config, const std::vector<int32_t>& blocked = {}) {
  ToyLanguage language{.vocabulary = static_cast<int64_t>(logits.size())};
  for (size_t v = 0; v < logits.size(); ++v) language.forced[static_cast<int32_t>(v)] = logits[v];
  const std::vector<int64_t> sentences{0};
  ToyModel model(language, sentences);
  model.admit(1);
  model.advance(std::vector<int32_t>{0}, std::vector<int32_t>{0, 1});
  std::vector<TokenQuestion> questions;
  for (const double uniform : uniforms) questions.push_back({.blocked = blocked, .uniform = uniform});
  std::vector<int32_t> tokens;
  for (const SampledToken& s : sample_tokens(model, questions, config)) tokens.push_back(s.token);
  return tokens;
}

std::vector<double> spread(int draws) {
  std::vector<double> uniforms;
  for (int i = 0; i < draws; ++i) uniforms.push_back((i + 0.5) / draws);
  return uniforms;
}

// The share of evenly spread uniforms at which each token is drawn: the distribution itself, to 1 / draws.
std::vector<double> shares(const std::vector<float>& logits, const SearchConfig& config,
                           const std::vector<int32_t>& blocked = {}) {
  constexpr int kDraws = 20000;
  std::vector<double> share(logits.size());
  for (const int32_t token : tokens_at(spread(kDraws), logits, config, blocked)) share.at(token) += 1.0 / kDraws;
  return share;
}

// The softmax at a temperature over the kept tokens.
std::vector<double> expected(const std::vector<float>& logits, double temperature, const std::set<int32_t>& kept) {
  std::vector<double> p(logits.size());
  double sum = 0;
  for (const int32_t token : kept) sum += p[token] = std::exp(logits[token] / temperature);
  for (double& x : p) x /= sum;
  return p;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1.5e-4) << i;
}

TEST(SampleToken, DrawsFromTheStatedDistribution) {
  const std::set<int32_t> all{0, 1, 2, 3, 4, 5};
  expect_near(shares(kLogits, {}), expected(kLogits, 1, all));
  expect_near(shares(kLogits, {.temperature = 0.5}), expected(kLogits, 0.5, all));
  expect_near(shares(kLogits, {.temperature = 3}), expected(kLogits, 3, all));
  expect_near(shares(kLogits, {.top_k = 3}), expected(kLogits, 1, {1, 2, 5}));
  expect_near(shares(kLogits, {.top_k = 100}), expected(kLogits, 1, all));
  expect_near(shares(kLogits, {}, {2, 4}), expected(kLogits, 1, {0, 1, 3, 5}));
  expect_near(shares(kLogits, {.top_k = 2}, {2, 4}), expected(kLogits, 1, {1, 5}));
}

TEST(SampleToken, NucleusIsTheSmallestSetThatReachesP) {
  // Probabilities 2 and 5: 0.349 each, 1: 0.128, 4: 0.078, 0: 0.047, 3: 0.017...
  expect_near(shares(kLogits, {.top_p = 0.0}), expected(kLogits, 1, {2}));
  expect_near(shares(kLogits, {.top_p = 0.3}), expected(kLogits, 1, {2}));
  expect_near(shares(kLogits, {.top_p = 0.5}), expected(kLogits, 1, {2, 5}));
  expect_near(shares(kLogits, {.top_p = 0.8}), expected(kLogits, 1, {1, 2, 5}));
  // After top_k 3 the three remaining tokens share everything: 0.42, 0.42, 0.16.
  expect_near(shares(kLogits, {.top_k = 3, .top_p = 0.83}), expected(kLogits, 1, {2, 5}));
  expect_near(shares(kLogits, {.top_k = 3, .top_p = 0.9}), expected(kLogits, 1, {1, 2, 5}));
  // Of the tokens that blocking leaves; then at a temperature.
  expect_near(shares(kLogits, {.top_p = 0.6}, {2, 5}), expected(kLogits, 1, {1, 4}));
  expect_near(shares(kLogits, {.temperature = 0.2, .top_p = 0.98}), expected(kLogits, 0.2, {2, 5}));
}

TEST(SampleToken, NucleusOfHundredsOfTokens) {
  std::mt19937 random(3);
  std::vector<float> logits(1000);
  for (float& x : logits) x = static_cast<float>(random() % 1000) / 1000;  // nearly flat: half the tokens are needed
  std::vector<int32_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
  double total = 0, sum = 0;
  for (const float x : logits) total += std::exp(x);
  std::set<int32_t> nucleus;
  for (size_t i = 0; sum < 0.5 * total; ++i) {
    sum += std::exp(logits[order[i]]);
    nucleus.insert(order[i]);
  }
  const std::vector<int32_t> tokens = tokens_at(spread(4000), logits, {.top_p = 0.5});
  EXPECT_EQ(std::set<int32_t>(tokens.begin(), tokens.end()), nucleus);
}

TEST(SampleToken, Degenerate) {
  const float none = -std::numeric_limits<float>::infinity();
  const auto at = [](double uniform, const std::vector<float>& logits, const SearchConfig& config,
                     const std::vector<int32_t>& blocked = {}) {
    return tokens_at({uniform}, logits, config, blocked).front();
  };
  EXPECT_EQ(at(0.99, kLogits, {.temperature = 0}), 2);
  EXPECT_EQ(at(0.99, kLogits, {.temperature = 0}, {2}), 5);
  // At every low temperature the best token is drawn.
  for (const double temperature : {1e-12, 1e-20, 1e-310}) {
    for (const SearchConfig& config :
         {SearchConfig{.temperature = temperature}, SearchConfig{.temperature = temperature, .top_k = 3},
          SearchConfig{.temperature = temperature, .top_p = 0.9}}) {
      EXPECT_EQ(at(0.99, kLogits, config), 2) << temperature;
      EXPECT_EQ(at(0.99, kLogits, config, {2}), 5) << temperature;
    }
  }
  for (const SearchConfig& config :
       {SearchConfig{}, SearchConfig{.top_k = 2}, SearchConfig{.top_p = 0.5}, SearchConfig{.temperature = 0}}) {
    EXPECT_EQ(at(0.5, {none, none}, config), -1);
    EXPECT_EQ(at(0.5, {1, none}, config, {0}), -1);
    EXPECT_EQ(at(1 - 0x1p-54, {none, 1, none}, config), 1);
    EXPECT_EQ(at(0x1p-54, {none, 1, none}, config), 1);
  }
}

TEST(Sampling, ATextDependsOnSeedIdSampleAndPositionAlone) {
  const ToyLanguage language{.vocabulary = 30, .end_bias = 1};
  const auto inputs = toy_inputs(9, 5, 1);
  for (SearchConfig config :
       {SearchConfig{}, SearchConfig{.temperature = 0.7, .top_k = 5}, SearchConfig{.top_p = 0.8}}) {
    config.method = SearchMethod::Sample;
    config.n_best = 4;
    const auto together = search(inputs, toy_factory(language), config, {.end = 0});
    SearchConfig one = config;
    one.n_best = 2;
    one.batch_sentences = 1;
    const auto alone = search(inputs, toy_factory(language), one, {.end = 0});
    std::set<std::vector<int32_t>> texts;
    for (size_t i = 0; i < inputs.size(); ++i) {
      expect_same({together[i][0], together[i][1]}, alone[i]);
      for (const Hypothesis& h : together[i]) texts.insert(h.tokens);
    }
    EXPECT_GT(texts.size(), 25u);  // of 36: samples differ, and so do sentences
    config.seed = 2;
    const auto reseeded = search(inputs, toy_factory(language), config, {.end = 0});
    int different = 0;
    for (size_t i = 0; i < inputs.size(); ++i) different += reseeded[i][0].tokens != together[i][0].tokens;
    EXPECT_GT(different, 5);
  }
}

TEST(Sampling, UniformsAreSpreadAndKeyed) {
  std::set<double> values;
  double sum = 0;
  for (int64_t seed = 0; seed < 10; ++seed) {
    for (int64_t input = 0; input < 10; ++input) {
      for (int64_t sample = 0; sample < 10; ++sample) {
        for (int64_t position = 0; position < 10; ++position) {
          const double u = sampling_uniform(seed, input, sample, position);
          EXPECT_GT(u, 0);
          EXPECT_LT(u, 1);
          values.insert(u);
          sum += u;
        }
      }
    }
  }
  EXPECT_EQ(values.size(), 10000u);
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);  // standard error 0.003
}

TEST(Sampling, LogProbabilityIsTheModelsOwn) {
  const ToyLanguage language{.vocabulary = 10};
  const std::vector<SearchInput> inputs{{.id = 4, .prompt = {1}}};
  const std::vector<int64_t> sentences{4};
  ToyModel model(language, sentences);
  const SearchConfig config{.method = SearchMethod::Sample, .temperature = 2, .top_k = 3, .max_length_extra = 4};
  const Hypothesis found = search_batch(model, inputs, config, {.suppressed = {2}})[0][0];
  std::vector<int32_t> history{1};
  double sum = 0;
  for (const int32_t token : found.tokens) {
    sum += log_softmax(language.logits(4, history), token);
    history.push_back(token);
  }
  EXPECT_NEAR(found.log_probability, sum, 1e-5);
  EXPECT_NEAR(found.score, sum / 4, 1e-5);
}

}  // namespace
}  // namespace weft
