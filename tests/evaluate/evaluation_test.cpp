// A checkpoint on a split, as `weft evaluate` does it: what is counted, what is refused, and that nothing depends on
// the ranks that share the work.
#include "evaluate/evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "data/prepare/specials.h"
#include "evaluate/text_generator.h"
#include "parallel/in_process.h"
#include "tests/trainer/small_run.h"

namespace weft {
namespace {

using namespace test;

EvaluationReport evaluate(const EvaluateOptions& options) {
  Session session = Session::alone();
  return evaluate_split(session, options);
}

struct LanguageModelEvaluation : testing::Test {
  void SetUp() override { run.train(); }
  EvaluateOptions options() const { return {.checkpoint = run.directory(), .split = "valid"}; }

  Scratch scratch;
  SmallRun run{scratch};
};

TEST_F(LanguageModelEvaluation, CountsTargetsWordsAndBytes) {
  const EvaluationReport report = evaluate(options());
  const Dataset split = Dataset::open(run.job().data.directory, "valid");
  EXPECT_EQ(report.step, 8);
  EXPECT_EQ(report.perplexity.sums.tokens, split.num_tokens() - 1);
  EXPECT_EQ(report.perplexity.sums.bytes, split.num_tokens());  // a character each, all of them ASCII
  EXPECT_EQ(report.perplexity.protocol.context, 8);
  EXPECT_EQ(report.perplexity.protocol.stride, 8);
  EXPECT_FALSE(report.translation.has_value());
  EXPECT_EQ(report.format(), report.perplexity.format() + "\n");
  const nlohmann::ordered_json json = report;
  EXPECT_EQ(json["split"], "valid");
  EXPECT_EQ(json["tokens"], report.perplexity.sums.tokens);
  EXPECT_FALSE(json.contains("bleu"));
}

TEST_F(LanguageModelEvaluation, FewerWindowsAreNotHeldToTheWholeText) {
  EvaluateOptions few = options();
  few.perplexity.max_sequences = 3;
  const PerplexitySums sums = evaluate(few).perplexity.sums;
  EXPECT_EQ(sums.tokens, 3 * 8);
  EXPECT_EQ(sums.words, 0);
  EXPECT_EQ(sums.bytes, 0);
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

struct TranslationEvaluation : testing::Test {
  void SetUp() override {
    std::string pairs;
    for (int i = 0; i < 30; ++i) pairs += "ab " + std::to_string(i) + "\tba\n";
    const std::string yaml = "name: t\ntask: translation\nrun_dir: " + (scratch / "run").string() +
                             "\ndata: {directory: " + (scratch / "data").string() +
                             ", format: tsv, source_bos: true, train: {files: [" + scratch.write("train.tsv", pairs) +
                             "]}, valid: {files: [" +
                             scratch.write("valid.tsv", "a 1\tba\nb 2\tab\n12\tb\nba\ta\nab\tb\n") +
                             "]}}\ntokenizer: {kind: chars, specials: [<s>, </s>], bos: <s>, eos: </s>}\n"
                             "model: {encoder_layers: 1, layers: 1, width: 16, heads: 2, max_length: 12}\n"
                             "batch: {sequences: 2}\ntrain: {max_steps: 2}\n";
    job = load_job(scratch.write("job.yaml", yaml), {});
    prepare(job.data, job.tokenizer, job.target_tokenizer);
    Context context(Device{}, 1);
    Mesh mesh = Mesh::single();
    Trainer(context, mesh, job, {}).run({});
  }
  EvaluateOptions options() const { return {.checkpoint = job.run_directory(), .split = "valid"}; }

  Scratch scratch;
  JobConfig job;
};

TEST_F(TranslationEvaluation, ScoresTheTextsThatItWrites) {
  EvaluateOptions writing = options();
  writing.perplexity.max_sequences = 4;
  writing.translation = TranslationOptions{.output = scratch / "texts", .baselines = true};
  writing.translation->search.beam = 2;
  const EvaluationReport report = evaluate(writing);
  const std::string text = read_file(scratch / "texts");
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);
  EXPECT_EQ(report.translation->bleu.lines, 4);
  ASSERT_EQ(report.translation->baselines.size(), 2u);
  const nlohmann::ordered_json json = report;
  for (const char* key : {"bleu", "chrf", "baselines"}) EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_TRUE(evaluate(options()).translation->baselines.empty());
}

TEST_F(TranslationEvaluation, AFileThatCannotBeWrittenIsRefused) {
  EvaluateOptions nowhere = options();
  nowhere.translation = TranslationOptions{.output = scratch / "no-folder" / "texts"};
  EXPECT_THROW(evaluate(nowhere), DataError);
}

TEST_F(TranslationEvaluation, NewTextIsEncodedAsPreparationStoresIt) {
  const Dataset split = Dataset::open(job.data.directory, "valid");
  const auto tokenizer = split.load_source_tokenizer();
  std::vector<int32_t> stored(static_cast<size_t>(split.source_length(0)));
  split.read_source(0, stored);
  EXPECT_EQ(encode_source("a 1", *tokenizer, job.data), stored);
  EXPECT_EQ(stored.size(), 5u);  // both specials
}

TEST_F(TranslationEvaluation, RanksShareTheSentencesAndChangeNoText) {
  const auto tokenizer = Dataset::open(job.data.directory, "valid").load_source_tokenizer();
  std::vector<std::vector<int32_t>> sources;
  for (const char* text : {"a 1", "b 2", "12", "ba", "ab"})
    sources.push_back(encode_source(text, *tokenizer, job.data));
  // Samples differ from each other, so that a text in another's place is seen.
  const SearchConfig sampling{.method = SearchMethod::Sample, .seed = 3};
  std::vector<std::string> alone;
  for (const int dp : {1, 2, 3}) {
    run_in_process({.dp = dp}, [&](Mesh& mesh, int) {
      Context context(Device{}, 1);
      const LoadedModel loaded = load_model(context, mesh, job.run_directory());
      const auto texts = translate_sentences(loaded, sources, sampling, false);
      if (dp == 1) alone = texts;
      EXPECT_EQ(texts, alone) << "dp " << dp;
    });
  }
  EXPECT_EQ(alone.size(), sources.size());
  EXPECT_EQ(std::set<std::string>(alone.begin(), alone.end()).size(), sources.size());
}

}  // namespace
}  // namespace weft
