// SPDX-License-Identifier: Apache-2.0
#include "metrics/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "base/error.h"

namespace weft {
namespace {

TEST(PerplexitySums, AreTheSameForAnyChunking) {
  std::mt19937 random(1);
  std::vector<double> nll(5000);
  for (double& x : nll) x = static_cast<double>(random() % 100000) / 7000;
  const double expected = std::accumulate(nll.begin(), nll.end(), 0.0);
  for (const size_t chunk : {1, 7, 64, 1024, 6000}) {
    for (const size_t ranks : {1, 2, 3}) {
      std::vector<PerplexitySums> sums(ranks);
      for (size_t begin = 0; begin < nll.size(); begin += chunk) {
        const size_t end = std::min(begin + chunk, nll.size());
        sums[begin / chunk % ranks].add(std::accumulate(nll.begin() + begin, nll.begin() + end, 0.0), end - begin);
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
  const PerplexityReport apart =
      perplexity_report({.nll = 3000, .tokens = 1000}, {.context = 8, .stride = 8, .documents_apart = true});
  EXPECT_TRUE(apart.format().ends_with(", context 8, stride 8, no BOS, EOS not scored, documents apart"));
  EXPECT_EQ(nlohmann::json(apart)["documents_apart"], true);
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
  // A perplexity beyond a double is null, never text that JSON does not know.
  EXPECT_TRUE(nlohmann::json(perplexity_report({.nll = 1e6, .tokens = 1}, {}))["perplexity"].is_null());
}

TEST(Perplexity, EmptyTextIsAnError) { EXPECT_THROW(perplexity_report({}, {}), DataError); }

}  // namespace
}  // namespace weft
