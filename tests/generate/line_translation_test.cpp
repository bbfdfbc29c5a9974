// SPDX-License-Identifier: Apache-2.0
// Text is translated as it arrives, and translations are scored: one output for each input line whatever is in it,
// the same whatever the batches and ranks.
#include "generate/line_translation.h"

#include <gmock/gmock.h>

#include <set>

#include "evaluate/rescoring.h"
#include "generate/one_line.h"
#include "parallel/local/in_process.h"
#include "tests/generate/fixture.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::StartsWith;

struct LineTranslation : TranslationRun {
  // The translations of `lines`, read `batch` at a time, on dp ranks.
  struct Result {
    TranslatedLines done;
    std::vector<NBest> found;
    std::vector<std::string> texts;  // the best text of each line
    size_t batches = 0;
  };
  Result translate(const std::vector<std::string>& lines, const SearchConfig& search, size_t batch, int dp = 1,
                   LongLines policy = LongLines::Truncate, const std::vector<std::string>& prefixes = {}) {
    Result result;
    run_in_process({.dp = dp}, [&](Mesh& mesh, int rank) {
      Context context(Device{}, 1);
      const LoadedModel loaded = load_model(context, mesh, job.run_directory());
      const TextGenerator generator = text_generator(loaded);
      size_t read = 0;
      const LineReader reader = [&] {
        LineBatch next{.first = static_cast<int64_t>(read)};
        for (; read < lines.size() && next.lines.size() < batch; ++read) {
          next.lines.push_back(lines[read]);
          if (!prefixes.empty()) next.prefixes.push_back(prefixes[read]);
        }
        return next;
      };
      const LineWriter writer = [&](const LineBatch& written, const std::vector<NBest>& found) {
        EXPECT_EQ(rank, 0);
        EXPECT_EQ(written.first, static_cast<int64_t>(result.found.size()));
        ++result.batches;
        for (const NBest& best : found) {
          result.found.push_back(best);
          result.texts.push_back(generator.text(best.at(0)));
        }
      };
      const TranslatedLines done = translate_lines(generator, search, policy, reader, writer);
      if (rank == 0) result.done = done;
    });
    return result;
  }
};

const SearchConfig kSampling{.method = SearchMethod::Sample, .n_best = 2, .seed = 3};

TEST_F(LineTranslation, ATextDependsOnItsLineAndNotOnBatchesOrRanks) {
  std::vector<std::string> lines;
  for (int i = 0; i < 11; ++i) lines.push_back(i == 4 ? "" : "ab " + std::to_string(i % 3));
  const Result whole = translate(lines, kSampling, 100);
  EXPECT_EQ(whole.batches, 1u);
  EXPECT_EQ(whole.done.lines, 11);
  EXPECT_GT(std::set<std::string>(whole.texts.begin(), whole.texts.end()).size(), 5u) << "nothing to compare";
  for (const int dp : {1, 2, 3}) {
    const Result parts = translate(lines, kSampling, 4, dp);
    EXPECT_EQ(parts.batches, 3u);
    EXPECT_EQ(parts.texts, whole.texts) << "dp " << dp;
    for (size_t i = 0; i < lines.size(); ++i) {
      ASSERT_EQ(parts.found[i].size(), whole.found[i].size());
      for (size_t n = 0; n < whole.found[i].size(); ++n) {
        EXPECT_EQ(parts.found[i][n].score, whole.found[i][n].score);
        EXPECT_EQ(parts.found[i][n].ending, whole.found[i][n].ending);
      }
    }
  }
}

TEST_F(LineTranslation, BlankLinesAreEmptySources) {
  for (const char* blank : {"", "   ", " \t\r"}) {
    const Result result = translate({"ab", blank, "ab"}, kSampling, 10, 2, LongLines::Stop, {"b", "b", "a"});
    ASSERT_EQ(result.found.size(), 3u);
    ASSERT_EQ(result.found[1].size(), 1u) << "one entry, whatever n_best";
    EXPECT_EQ(result.found[1][0].ending, Ending::EmptySource);
    EXPECT_EQ(result.texts[1], "");
  }
}

TEST_F(LineTranslation, ALineThatIsTooLongFollowsThePolicy) {
  const std::string much(30, 'a'), fits(10, 'a');  // fits: 12 tokens with both specials
  const SearchConfig greedy{.method = SearchMethod::Greedy};
  const Result cut = translate({"ab", much, fits}, greedy, 2);
  EXPECT_EQ(cut.done.too_long, 1);
  EXPECT_EQ(cut.texts[1], cut.texts[2]) << "what fits of it";
  const Result empty = translate({"ab", much, fits}, greedy, 2, 1, LongLines::Empty);
  EXPECT_EQ(empty.done.too_long, 1);
  EXPECT_EQ(empty.found[1][0].ending, Ending::EmptySource);
  EXPECT_EQ(empty.texts[2], cut.texts[2]);
  EXPECT_THAT(error_of([&] {
                translate({"ab", "ab", much}, greedy, 2, 1, LongLines::Stop);
              }),
              StartsWith("line 3: it has 32 tokens, the model's longest is 12"));
}

TEST_F(LineTranslation, WhatCannotBeEncodedNamesItsLine) {
  const SearchConfig greedy{.method = SearchMethod::Greedy};
  EXPECT_THAT(error_of([&] { translate({"ab", "ab", "xyz"}, greedy, 2); }), StartsWith("line 3: "));
  EXPECT_THAT(error_of([&] { translate({"ab"}, greedy, 2, 1, LongLines::Stop, {std::string(12, 'a')}); }),
              HasSubstr("its prefix has 12 tokens"));
}

TEST_F(LineTranslation, BeginsWithItsPrefix) {
  const std::vector<std::string> lines = {"ab 1", "ab 2", "ab 3"}, prefixes = {"ab", "", "bbb a"};
  for (const SearchMethod method : {SearchMethod::Beam, SearchMethod::Greedy, SearchMethod::Sample}) {
    SearchConfig search{.method = method};
    search.n_best = method == SearchMethod::Greedy ? 1 : 3;
    const Result result = translate(lines, search, 2, 2, LongLines::Stop, prefixes);
    for (size_t i = 0; i < lines.size(); ++i) EXPECT_THAT(result.texts[i], StartsWith(prefixes[i]));
    EXPECT_EQ(result.texts[1], translate(lines, search, 3).texts[1]) << "an empty prefix changes nothing";
  }
}

// A text of characters has one row of tokens, so its search result can be scored from the text alone.
TEST_F(LineTranslation, RescoringEqualsTheScoresOfTheSearch) {
  const std::vector<std::string> lines = {"ab 1", "", "ab 22", "b"};
  const SearchConfig search{.beam = 3, .length_penalty = 0.6, .max_length_extra = 4};
  const Result result = translate(lines, search, 10);
  for (const int dp : {1, 2}) {
    run_in_process({.dp = dp}, [&](Mesh& mesh, int) {
      int ended = 0;
      Context context(Device{}, 1);
      const LoadedModel loaded = load_model(context, mesh, job.run_directory());
      const auto scored = rescore(text_generator(loaded), lines, result.texts, search);
      ASSERT_EQ(scored.size(), lines.size());
      for (size_t i = 0; i < lines.size(); ++i) {
        const Hypothesis& found = result.found[i][0];
        EXPECT_EQ(scored[i].tokens, found.tokens);
        if (found.ending == Ending::MaxLength) continue;  // a cut text has no end token in its score
        ended += found.ending == Ending::EndToken;
        EXPECT_EQ(scored[i].log_probability, found.log_probability) << i;
        EXPECT_EQ(scored[i].score, found.score);
        EXPECT_EQ(scored[i].token_log_probabilities, found.token_log_probabilities);
      }
      EXPECT_GT(ended, 0) << "nothing to compare";
    });
  }
}

TEST_F(LineTranslation, RescoringIsALogProbability) {
  run_in_process({.dp = 1}, [&](Mesh& mesh, int) {
    Context context(Device{}, 1);
    const LoadedModel loaded = load_model(context, mesh, job.run_directory());
    const TextGenerator generator = text_generator(loaded);
    const auto of = [&](const std::string& source, const std::string& target) {
      return rescore(generator, {source}, {target}, {}, 6).at(0);
    };
    const std::string most(11, 'a');  // with the start token it fills the positions; the end token is not fed
    const RescoredPair pair = of("ab", most);
    EXPECT_EQ(pair.token_log_probabilities.size(), 12u);
    EXPECT_LT(pair.log_probability, 0);
    EXPECT_DOUBLE_EQ(pair.score, pair.log_probability / 12) << "the mean of tokens and end token";
    EXPECT_LT(of("ab", "ab").log_probability, 0);
    EXPECT_EQ(of(" ", "").log_probability, 0);
    EXPECT_TRUE(std::isinf(of(" ", "ab").log_probability));
    EXPECT_THAT(error_of([&] { of("ab", most + "a"); }), StartsWith("line 7: its translation has 12 tokens"));
    EXPECT_THAT(error_of([&] { of(std::string(11, 'a'), "ab"); }), StartsWith("line 7: its source has 13 tokens"));
    EXPECT_THAT(error_of([&] { of("xyz", "ab"); }), StartsWith("line 7: "));
  });
}

TEST(OneLine, HasNoLineEndsOfAnyKind) {
  EXPECT_EQ(one_line("a\nb\rc\r\nd\ve\ff"), "a b c d e f");
  EXPECT_EQ(one_line("a\xC2\x85"
                     "b\xE2\x80\xA8"
                     "c\xE2\x80\xA9"
                     "d\x1C"
                     "e"),
            "a b c d e");
  EXPECT_EQ(one_line("\xC2\xA0\xE2\x80\xA7\tz\xE2\x80"), "\xC2\xA0\xE2\x80\xA7\tz\xE2\x80") << "others stay";
  EXPECT_EQ(one_line(""), "");
  EXPECT_TRUE(is_blank(" \t") && is_blank("") && !is_blank(" a"));
}

}  // namespace
}  // namespace weft
