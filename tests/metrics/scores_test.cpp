// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "metrics/bleu.h"
#include "metrics/bootstrap.h"
#include "metrics/chrf.h"
#include "metrics/ter.h"
#include "tests/metrics/fixture/every_code_point.h"
#include "tests/metrics/fixture/stored_scores.h"

// TER, the zh tokenizer and the bootstrap, compared with sacreBLEU's values (make_scores.py).
namespace weft {
namespace {

using namespace test;

const StoredScores& golden() {
  static const StoredScores stored("scores.json");
  return stored;
}

TerConfig ter_config(const Json& json) {
  return {.normalized = json["normalized"],
          .no_punct = json["no_punct"],
          .asian_support = json["asian_support"],
          .case_sensitive = json["case_sensitive"]};
}

TEST(Ter, EqualsSacrebleuLineByLine) {
  const auto compare = [](const Lines& hypotheses, const std::vector<Lines>& references, const Json& expected) {
    const Ter ter(ter_config(expected["config"]));
    const LineStatistics statistics = corpus_statistics(ter, hypotheses, references);
    ASSERT_EQ(statistics.lines(), expected["rows"].size());
    for (size_t i = 0; i < statistics.lines(); ++i) {
      EXPECT_EQ(statistics.row(i)[0], expected["rows"][i][0].get<double>()) << "edits of line " << i;
      EXPECT_NEAR(statistics.row(i)[1], expected["rows"][i][1].get<double>(), 1e-9) << "length of line " << i;
    }
    EXPECT_NEAR(ter.score(statistics.sums()), expected["score"].get<double>(), 1e-9);
    EXPECT_EQ(format_signature(signature_fields(ter, references.size())),
              golden().with_our_version(expected["signature"]));
  };
  EXPECT_EQ(golden().for_each("ter", compare), 7 * 16);
}

TEST(BleuTokenizers, ChineseEqualsSacrebleuOnEveryCodePoint) {
  char32_t first = 0;
  for (const Json& expected : golden()["zh"]) {
    EXPECT_EQ(crc_of_tokens(BleuTokenizer::Chinese, characters_from(first)), expected.get<uint32_t>())
        << "from " << static_cast<uint32_t>(first);
    first += kCodePointsOfOneChecksum;
  }
  EXPECT_EQ(first, char32_t{0x110000});
}

TEST(Bootstrap, FiguresOfGivenScoresEqualSacrebleu) {
  ASSERT_EQ(golden()["statistics"].size(), 20u);
  for (const Json& expected : golden()["statistics"]) {
    const auto a = expected["a"].get<std::vector<double>>(), b = expected["b"].get<std::vector<double>>();
    const Interval interval = confidence_interval(a);
    EXPECT_NEAR(interval.mean, expected["mean"].get<double>(), 1e-9);
    EXPECT_NEAR(interval.half_width, expected["ci"].get<double>(), 1e-9);
    EXPECT_NEAR(paired_p_value(a, b, expected["difference"]), expected["p"].get<double>(), 1e-12);
  }
}

// Another generator draws other samples: there are enough of them for the figures to agree.
TEST(Bootstrap, IntervalsAndPairedTestsAgreeWithSacrebleu) {
  const Json& paired = golden()["paired"];
  const auto references = paired["references"].get<std::vector<Lines>>();
  const auto systems = paired["systems"].get<std::vector<Lines>>();
  const BootstrapConfig config{.samples = paired["samples"]};
  const Bleu bleu;
  const Chrf chrf;
  const Ter ter;
  for (const Metric* metric : std::initializer_list<const Metric*>{&bleu, &chrf, &ter}) {
    std::vector<double> baseline;
    double baseline_score = 0;
    for (size_t s = 0; s < systems.size(); ++s) {
      SCOPED_TRACE(metric->name() + " of system " + std::to_string(s));
      const Json& expected = paired["results"].at(metric->name())[s];
      const LineStatistics statistics = corpus_statistics(*metric, systems[s], references);
      const double score = metric->score(statistics.sums());
      const std::vector<double> scores = bootstrap_scores(*metric, statistics, config);
      EXPECT_NEAR(score, expected["score"].get<double>(), 1e-9);
      EXPECT_NEAR(confidence_interval(scores).mean, expected["mean"].get<double>(), 0.1);
      EXPECT_NEAR(confidence_interval(scores).half_width, expected["ci"].get<double>(), 0.1);
      if (s == 0) {
        baseline = scores;
        baseline_score = score;
      } else {
        EXPECT_NEAR(paired_p_value(baseline, scores, score - baseline_score), expected["p"].get<double>(), 0.01);
      }
    }
  }
}

TEST(Bootstrap, SamplesDependOnSeedAndNumberAlone) {
  const Lines hypotheses{"a b c d", "e f g h", "i j k x", "x y z w", "a a a a"};
  const std::vector<Lines> references{{"a b c d", "e f g x", "i j k l", "x y z w", "b b b b"}};
  const Ter ter;
  const LineStatistics statistics = corpus_statistics(ter, hypotheses, references);
  const std::vector<double> many = bootstrap_scores(ter, statistics, {.samples = 50});
  const std::vector<double> few = bootstrap_scores(ter, statistics, {.samples = 20});
  EXPECT_EQ(std::vector<double>(many.begin(), many.begin() + 20), few);
  EXPECT_NE(bootstrap_scores(ter, statistics, {.samples = 20, .seed = 1}), few);
}

}  // namespace
}  // namespace weft
