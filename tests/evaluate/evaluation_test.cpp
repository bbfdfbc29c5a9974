// SPDX-License-Identifier: Apache-2.0
// A checkpoint is evaluated on a split as `weft evaluate` does it: the counts and the refusals are right, and nothing
// depends on the ranks that share the work.
#include "evaluate/evaluation.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "data/prepare/specials.h"
#include "generate/generations.h"
#include "generate/shared_translation.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "parallel/local/in_process.h"
#include "tests/generate/fixture.h"

namespace weft {
namespace {

using namespace test;
using testing::HasSubstr;

EvaluationReport evaluate(const EvaluateOptions& options) {
  Session session = Session::alone();
  return evaluate_split(session, options);
}

struct LanguageModelEvaluation : testing::Test {
  void SetUp() override { run.train(); }
  EvaluateOptions options() const { return {.checkpoint = run.directory(), .split = DataSplit::Valid}; }

  Scratch scratch;
  SmallRun run{scratch};
};

TEST_F(LanguageModelEvaluation, CountsTargetsWordsAndBytes) {
  const EvaluationReport report = evaluate(options());
  const Dataset split = Dataset::open(run.job().data.directory, DataSplit::Valid);
  EXPECT_EQ(report.step, 8);
  EXPECT_EQ(report.perplexity.sums.tokens, split.num_tokens() - 1);
  // A token is one character, all of them ASCII; the first has no prediction.
  EXPECT_EQ(report.perplexity.sums.bytes, split.num_tokens() - 1);
  EXPECT_EQ(report.perplexity.protocol.context, 8);
  EXPECT_EQ(report.perplexity.protocol.stride, 8);
  EXPECT_FALSE(report.translation.has_value());
  EXPECT_EQ(report.format(), report.perplexity.format() + "\n");
  const nlohmann::ordered_json json = report;
  EXPECT_EQ(json["split"], "valid");
  EXPECT_EQ(json["perplexity"]["tokens"], report.perplexity.sums.tokens);
  EXPECT_FALSE(json.contains("bleu"));
}

TEST_F(LanguageModelEvaluation, TheHeldOutSplitIsTaken) {
  EvaluateOptions unsaid = options();
  unsaid.split.reset();
  EXPECT_EQ(evaluate(unsaid).split, DataSplit::Valid);
  unsaid.split = DataSplit::Test;
  EXPECT_THROW(evaluate(unsaid), DataError);
}

TEST_F(LanguageModelEvaluation, OverlappingWindowsScoreTheSameText) {
  EvaluateOptions overlapping = options();
  overlapping.perplexity.stride = 3;
  const PerplexitySums sums = evaluate(overlapping).perplexity.sums, once = evaluate(options()).perplexity.sums;
  EXPECT_EQ(sums.bytes, once.bytes);
  EXPECT_EQ(sums.words, once.words);
}

TEST_F(LanguageModelEvaluation, FewerWindowsAreHeldToTheirOwnText) {
  EvaluateOptions few = options();
  few.perplexity.max_sequences = 3;
  const PerplexitySums sums = evaluate(few).perplexity.sums;
  EXPECT_EQ(sums.tokens, 3 * 8);
  EXPECT_EQ(sums.bytes, 3 * 8);
  EXPECT_GT(sums.words, 0);
}

TEST_F(LanguageModelEvaluation, OptionsOfTranslationAreRefused) {
  EvaluateOptions translating = options();
  translating.translation.emplace();
  EXPECT_THROW(evaluate(translating), ConfigError);
}

TEST_F(LanguageModelEvaluation, AnotherTokenizersDatasetIsRefused) {
  const SmallRun other(scratch, "other", "other letters: qxyz\n" + SmallRun::sample_text());
  EvaluateOptions mixed = options();
  mixed.overrides = {"data.directory=" + (scratch / "other-data").string()};
  EXPECT_THROW(evaluate(mixed), DataError);
}

struct TranslationEvaluation : TranslationRun {
  EvaluateOptions options() const { return {.checkpoint = job.run_directory(), .split = DataSplit::Valid}; }
};

TEST_F(TranslationEvaluation, ScoresTheTextsThatItWrites) {
  EvaluateOptions writing = options();
  writing.perplexity.max_sequences = 4;
  writing.translation = TranslationOptions{.output = scratch / "texts"};
  writing.translation->search.beam = 2;
  const EvaluationReport report = evaluate(writing);
  const std::string text = read_file(scratch / "texts");
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);
  const nlohmann::ordered_json json = report;
  for (const MetricEntry& entry : metric_table()) {
    SCOPED_TRACE(std::string(entry.name));
    const CorpusScore& score = report.translation->of(entry.name);
    EXPECT_EQ(score.lines(), 4);
    EXPECT_EQ(json[entry.name]["score"], score.score());
    EXPECT_EQ(json[entry.name]["name"], score.metric().name());
    EXPECT_THAT(report.format(), HasSubstr("\n" + score.format() + "\n"));
  }
}

// A model of 12 positions, or a dataset of cut targets, holds only a part of some lines of the test split.
TEST_F(TranslationEvaluation, EveryPairIsTranslatedAndScoredAgainstTheText) {
  job.data.directory = (scratch / "more").string();
  job.data.tokenizer_file = (scratch / "data" / "tokenizer.json").string();
  const std::string longer = std::string(40, 'a') + "\tab\n";
  job.data.test.files = {scratch.write("test.tsv", "a 1\tba\n" + longer + "\tb\nb 2\tb b b b b b b b b b\n")};
  job.data.max_target_tokens = 6;
  job.data.heldout_overlong_pairs = OverlongPairs::Truncate;
  prepare(job.text());
  EvaluateOptions testing = options();
  testing.split = DataSplit::Test;
  testing.overrides = {"data.directory=" + job.data.directory};
  testing.translation =
      TranslationOptions{.metrics = every_metric({{"chrf", {"word_order=2"}}}), .output = scratch / "texts"};
  const EvaluationReport report = evaluate(testing);
  const std::string texts = read_file(scratch / "texts");
  EXPECT_EQ(std::ranges::count(texts, '\n'), 4);
  EXPECT_EQ(report.translation->pairs, 4);
  EXPECT_EQ(report.translation->cut_sources, 1);
  EXPECT_TRUE(report.translation->raw_references);
  EXPECT_EQ(report.left_out, 1) << "the long source";
  EXPECT_EQ(report.dataset.truncated_pairs, 1);
  EXPECT_EQ(report.perplexity.sums.tokens, 3 + 2 + 5);
  std::vector<std::string> lines(1);
  for (const char c : texts) c == '\n' ? lines.emplace_back() : lines.back() += std::string(1, c);
  lines.pop_back();
  EXPECT_EQ(lines[2], "") << "of an empty source";
  const std::vector<std::vector<std::string>> references = {{"ba", "ab", "b", "b b b b b b b b b b"}};
  const auto format_of = [&](std::shared_ptr<const Metric> metric) {
    return CorpusScore(std::move(metric), lines, references).format();
  };
  EXPECT_EQ(report.translation->of("bleu").format(), format_of(std::make_shared<Bleu>()));
  EXPECT_THAT(report.translation->of("bleu").format(), HasSubstr("ref_len = 13"))
      << "the text, and not what was left of it";
  const std::string said = report.format(), chrf = format_of(std::make_shared<Chrf>(ChrfConfig{.word_order = 2}));
  EXPECT_EQ(report.translation->of("chrf").format(), chrf);
  EXPECT_EQ(report.translation->of("chrf++").format(), chrf);
  EXPECT_EQ(said.find(chrf), said.rfind(chrf)) << "chrF is chrF++ here, and is printed once: " << said;
  EXPECT_NE(said.find("note: 1 pair is left out of the perplexity"), std::string::npos) << said;
  EXPECT_NE(said.find("note: 1 source was cut"), std::string::npos) << said;
}

TEST_F(TranslationEvaluation, ADatasetThatDoesNotFitTheModelIsRefused) {
  const std::string own = (scratch / "data" / "tokenizer.json").string();
  job.data.directory = (scratch / "letters").string();
  job.data.train.files = {scratch.write("other.tsv", "qx\tba\nxq\tab\n")}, job.data.valid = job.data.train;
  prepare(job.text());
  job.data.tokenizer_file = job.data.directory + "/tokenizer.json", job.data.target_tokenizer_file = own;
  job.data.directory = (scratch / "other").string();
  prepare(job.text());
  EvaluateOptions other = options();
  other.overrides = {"data.directory=" + job.data.directory};
  EXPECT_THROW(evaluate(other), DataError) << "another source tokenizer";
  const SmallRun stream(scratch, "stream");
  other.overrides = {"data.directory=" + (scratch / "stream-data").string()};
  EXPECT_THROW(evaluate(other), ConfigError) << "no pairs";
}

TEST_F(TranslationEvaluation, PromptsAreCheckedBeforeTheFirstStep) {
  const auto tokenizer = Dataset::open(job.data.directory, DataSplit::Valid).load_source_tokenizer();
  const auto refused = [&](const std::string& prompt) {
    job.log.generations.every_steps = 1, job.log.generations.prompts = {"ab", prompt};
    std::string said;
    try {
      check_prompts(job, *tokenizer, *tokenizer);
    } catch (const ConfigError& error) {
      said = error.what();
    }
    return said;
  };
  EXPECT_EQ(refused("a 1"), "");
  EXPECT_EQ(refused(""), "");
  EXPECT_NE(refused("aaaaaaaaaaaaaaa").find("log.generations.prompts[1]: it has 17 tokens"), std::string::npos);
  EXPECT_NE(refused("zebra").find("log.generations.prompts[1]: "), std::string::npos);
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  EXPECT_THROW(Trainer(context, mesh, job, {}), ConfigError);
}

TEST_F(TranslationEvaluation, AFileThatCannotBeWrittenIsRefused) {
  EvaluateOptions nowhere = options();
  nowhere.translation = TranslationOptions{.output = scratch / "no-folder" / "texts"};
  EXPECT_THROW(evaluate(nowhere), DataError);
}

TEST_F(TranslationEvaluation, NewTextIsEncodedAsPreparationStoresIt) {
  const Dataset split = Dataset::open(job.data.directory, DataSplit::Valid);
  const auto tokenizer = split.load_source_tokenizer();
  std::vector<int32_t> stored(static_cast<size_t>(split.source_length(0)));
  split.read_source(0, stored);
  EXPECT_EQ(encode_source("a 1", *tokenizer, job.data), stored);
  EXPECT_EQ(stored.size(), 5u);  // with both specials
}

TEST_F(TranslationEvaluation, RanksShareTheSentencesAndChangeNoText) {
  const auto tokenizer = Dataset::open(job.data.directory, DataSplit::Valid).load_source_tokenizer();
  std::vector<std::vector<int32_t>> sources;
  for (const char* text : {"a 1", "b 2", "12", "ba", "ab"})
    sources.push_back(encode_source(text, *tokenizer, job.data));
  // Samples differ from each other, so that a text in a wrong place is noticed.
  const SearchConfig sampling{.method = SearchMethod::Sample, .seed = 3};
  std::vector<std::string> alone;
  for (const int dp : {1, 2, 3}) {
    run_in_process({.dp = dp}, [&](Mesh& mesh, int) {
      Context context(Device{}, 1);
      const LoadedModel loaded = load_model(context, mesh, job.run_directory());
      const TextGenerator generator = text_generator(loaded);
      std::vector<std::string> texts;
      for (const NBest& best : translate_on_ranks(generator, {.sources = sources}, sampling)) {
        texts.push_back(generator.text(best.at(0)));
      }
      if (dp == 1) alone = texts;
      EXPECT_EQ(texts, alone) << "dp " << dp;
    });
  }
  EXPECT_EQ(alone.size(), sources.size());
  EXPECT_EQ(std::set<std::string>(alone.begin(), alone.end()).size(), sources.size());
}

}  // namespace
}  // namespace weft
