// SPDX-License-Identifier: Apache-2.0
// The character error rate, compared with the values of jiwer (make_character_error_rate.py).
#include "metrics/character_error_rate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/metrics/fixture/stored_scores.h"

namespace weft {
namespace {

using namespace test;

CorpusScore cer(const Lines& hypotheses, const std::vector<Lines>& references,
                const CharacterErrorRateConfig& config = {}) {
  return {std::make_shared<CharacterErrorRate>(config), hypotheses, references};
}

TEST(CharacterErrorRate, EqualsJiwerLineByLine) {
  const StoredScores golden("character_error_rate.json");
  const auto compare = [](const Lines& hypotheses, const std::vector<Lines>& references, const Json& expected) {
    const CharacterErrorRate metric(
        {.lowercase = expected["config"]["lowercase"], .whitespace = expected["config"]["whitespace"]});
    const LineStatistics statistics = corpus_statistics(metric, hypotheses, references);
    ASSERT_EQ(statistics.lines(), expected["rows"].size());
    for (size_t i = 0; i < statistics.lines(); ++i) {
      EXPECT_EQ(statistics.row(i)[0], expected["rows"][i][0].get<double>()) << "edits of line " << i;
      EXPECT_EQ(statistics.row(i)[1], expected["rows"][i][1].get<double>()) << "characters of line " << i;
    }
    EXPECT_NEAR(metric.score(statistics.sums()), expected["score"].get<double>(), 1e-9);
  };
  EXPECT_EQ(golden.for_each("cer", compare), 12 * 4);
}

TEST(CharacterErrorRate, PrintsEditsAndLengthAndSignature) {
  const CorpusScore score = cer({"abcd", ""}, {{"abxd", "abcdef"}});
  EXPECT_EQ(score.format(), "CER|nrefs:1|case:mixed|space:yes|version:weft-1 = 70.00 (edits = 7 ref_len = 10)");
  const nlohmann::ordered_json json = score;
  EXPECT_EQ(json["edits"], 7);
  EXPECT_EQ(json["reference_length"], 10);
  EXPECT_EQ(cer({"A b"}, {{"ab"}}, {.lowercase = true, .whitespace = false}).format(),
            "CER|nrefs:1|case:lc|space:no|version:weft-1 = 0.00 (edits = 0 ref_len = 2)");
}

TEST(CharacterErrorRate, CountsAnInvalidByteAsOneCharacter) {
  EXPECT_EQ(cer({"a\xff"
                 "b"},
                {{"ab"}})
                .score(),
            50);
  EXPECT_EQ(cer({"a\xff"}, {{"a\xEF\xBF\xBD"}}).score(), 0);
}

}  // namespace
}  // namespace weft
