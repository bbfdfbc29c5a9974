#include "evaluate/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "base/error.h"

namespace weft {
namespace {

TEST(StridedWindows, ScoreEachTargetOnceWithTheContextPromised) {
  for (const int64_t tokens : {0, 1, 2, 3, 5, 8, 9, 16, 17, 100, 257}) {
    for (const int64_t context : {1, 2, 3, 8, 16, 300}) {
      for (const int64_t stride : {int64_t{1}, int64_t{2}, context / 2, context}) {
        if (stride < 1 || stride > context) continue;
        std::vector<int> scored(tokens);
        for (const ScoredWindow& w : strided_windows(tokens, context, stride)) {
          EXPECT_GE(w.begin, 0);
          EXPECT_LE(w.length, context);
          EXPECT_GT(w.num_targets(), 0);
          EXPECT_LT(w.begin + w.length, tokens);
          for (int64_t target = w.first_target; target <= w.begin + w.length; ++target) {
            ++scored[target];
            const int64_t seen = target - w.begin;
            EXPECT_GE(seen, std::min(target, context - stride + 1));
          }
        }
        for (int64_t t = 0; t < tokens; ++t) EXPECT_EQ(scored[t], t == 0 ? 0 : 1) << tokens << " " << context;
      }
    }
  }
}

TEST(StridedWindows, AreThoseOfAWorkedExample) {
  // Ten tokens, context 4, stride 2: the figures in docs/evaluation.md.
  std::vector<std::array<int64_t, 4>> windows;
  for (const ScoredWindow& w : strided_windows(10, 4, 2)) {
    windows.push_back({w.begin, w.length, w.first_target, w.num_targets()});
  }
  EXPECT_EQ(windows, (std::vector<std::array<int64_t, 4>>{{0, 4, 1, 4}, {2, 4, 5, 2}, {4, 4, 7, 2}, {6, 3, 9, 1}}));
}

TEST(StridedWindows, RefuseAStrideThatLeavesGaps) {
  EXPECT_THROW(strided_windows(10, 4, 5), ConfigError);
  EXPECT_THROW(strided_windows(10, 4, 0), ConfigError);
  EXPECT_THROW(strided_windows(10, 0, 0), ConfigError);
}

TEST(PerplexitySums, AreTheSameForAnyChunking) {
  std::mt19937 random(1);
  std::vector<double> nll(5000);
  for (double& x : nll) x = static_cast<double>(random() % 100000) / 7000;
  const double expected = std::accumulate(nll.begin(), nll.end(), 0.0);
  for (const int64_t context : {1, 7, 64, 1024, 6000}) {
    for (const int64_t ranks : {1, 2, 3}) {
      std::vector<PerplexitySums> sums(ranks);
      int64_t turn = 0;
      for (const ScoredWindow& w : strided_windows(5001, context, (context + 1) / 2)) {
        double window_nll = 0;
        for (int64_t i = 0; i < w.num_targets(); ++i) window_nll += nll[w.first_target + i - 1];
        sums[turn++ % ranks].add(window_nll, w.num_targets());
      }
      PerplexitySums total;
      for (const PerplexitySums& s : sums) total.add(s);
      EXPECT_EQ(total.tokens, 5000);
      EXPECT_NEAR(total.nll / expected, 1, 1e-13);
    }
  }
}

TEST(Perplexity, FiguresFollowTheirFormulas) {
  // A uniform model over 256 bytes, 4 bytes a token of 2^32, 20 bytes a word.
  PerplexitySums sums{.words = 5, .bytes = 100};
  sums.add(100 * std::log(256.0), 25);
  const PerplexityReport report = perplexity_report(sums, {.context = 1024, .stride = 512, .eos_scored = true});
  EXPECT_NEAR(report.bits_per_byte(), 8, 1e-12);
  EXPECT_NEAR(std::log2(report.token_perplexity()), 32, 1e-9);
  EXPECT_NEAR(std::log2(report.word_perplexity()), 160, 1e-9);
  EXPECT_NEAR(report.nll_per_token(), 4 * std::log(256.0), 1e-12);
}

TEST(Perplexity, TheLineStatesUnitBaseContextStrideAndPolicies) {
  const PerplexityReport full =
      perplexity_report({.nll = 3000, .tokens = 1000, .words = 750, .bytes = 4000}, {.context = 1024, .stride = 512});
  EXPECT_EQ(
      full.format(),
      "perplexity 20.0855 per token (base e, nll 3.000000 over 1000 tokens), 54.5982 per word (750 words), 1.0820 "
      "bits per byte (4000 bytes), context 1024, stride 512, no BOS, EOS not scored");
  const PerplexityReport sentences =
      perplexity_report({.nll = 3000, .tokens = 1000}, {.bos_fed = true, .eos_scored = true});
  EXPECT_EQ(sentences.format(),
            "perplexity 20.0855 per token (base e, nll 3.000000 over 1000 tokens), whole sentences, BOS fed, EOS "
            "scored");
}

TEST(Perplexity, Json) {
  const nlohmann::json json =
      perplexity_report({.nll = 3000, .tokens = 1000, .bytes = 4000}, {.context = 64, .stride = 32, .bos_fed = true});
  EXPECT_EQ(json["base"], "e");
  EXPECT_NEAR(json["perplexity"].get<double>(), std::exp(3.0), 1e-12);
  EXPECT_NEAR(json["bits_per_byte"].get<double>(), 0.75 / std::log(2.0), 1e-12);
  EXPECT_TRUE(json["word_perplexity"].is_null());
  EXPECT_EQ(json["context"], 64);
  EXPECT_EQ(json["stride"], 32);
  EXPECT_EQ(json["bos_fed"], true);
  EXPECT_EQ(json["eos_scored"], false);
  // Beyond a double: null, never text that JSON does not know.
  EXPECT_TRUE(nlohmann::json(perplexity_report({.nll = 1e6, .tokens = 1}, {}))["perplexity"].is_null());
}

TEST(Perplexity, OfNothingIsAnError) { EXPECT_THROW(perplexity_report({}, {}), DataError); }

TEST(Perplexity, CountsWords) {
  EXPECT_EQ(count_words(""), 0);
  EXPECT_EQ(count_words("  \n"), 0);
  EXPECT_EQ(count_words("one"), 1);
  EXPECT_EQ(count_words(" one two\n\tthree\u00a0four\u3000five "), 5);
  EXPECT_EQ(count_words("\xff \xff"), 2);
}

}  // namespace
}  // namespace weft
