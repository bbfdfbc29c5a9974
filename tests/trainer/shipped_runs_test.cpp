// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <sstream>

#include "base/log.h"
#include "data/prepare/prepare.h"
#include "tests/support/scratch.h"
#include "tests/support/shared_data.h"
#include "tests/support/source_dir.h"
#include "trainer/trainer.h"

// Prepares the whole text of the shipped jobs, and trains each for some steps with batches small enough for a test.
namespace weft {
namespace {

using namespace test;

class ShippedRuns : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return (scratch_ / name).string(); }

  JobConfig job(const std::string& config, std::vector<std::string> overrides) const {
    overrides.insert(overrides.end(), {"run_dir=" + at("run"), "data.directory=" + at("prepared"), "log.every_steps=1",
                                       "checkpoint.every_steps=0", "checkpoint.every_epochs=0",
                                       "checkpoint.keep_epochs=0", "evaluation.max_sequences=8"});
    return load_job(source_dir().string() + "/configs/" + config, overrides);
  }

  // Trains; expects the loss to fall from that of an untrained model. Returns the number of parameters.
  int64_t expect_learning(const JobConfig& job) const {
    prepare(job.text());
    Context context(Device{}, 1);
    Mesh mesh = Mesh::single();
    Trainer trainer(context, mesh, job);
    const TrainResult result = trainer.run({});
    EXPECT_EQ(result.exit, ExitCode::Done);
    EXPECT_EQ(result.step, job.train.max_steps);
    const auto lines = read_metrics(job.run_directory(), "train");
    EXPECT_EQ(static_cast<int64_t>(lines.size()), job.train.max_steps);
    if (!lines.empty()) {
      const double first = lines.front()["nll"];
      const double last = lines.back()["nll"];
      EXPECT_LT(last, first - 0.1);
    }
    return trainer.model().parameters().global_elements();
  }

  Scratch scratch_;
};

std::string files(const std::string& key, const std::string& path) { return key + "=[\"" + path + "\"]"; }
std::string sample(const std::string& key, const std::string& name) {
  return files(key, (source_dir() / "configs/sample" / name).string());
}

TEST_F(ShippedRuns, SampleTranslation) {
  const JobConfig j = job("sample/translation.yaml",
                          {sample("data.train.files", "train.tsv.gz"), sample("data.valid.files", "valid.tsv.gz"),
                           sample("data.test.files", "test.tsv.gz"), "train.max_steps=12", "schedule.warmup_steps=4",
                           "batch.tokens=512", "log.generations.every_steps=12"});
  expect_learning(j);
}

TEST_F(ShippedRuns, SampleGpt) {
  expect_learning(
      job("sample/gpt.yaml", {sample("data.train.files", "text.txt.gz"), "train.max_steps=12",
                              "schedule.warmup_steps=4", "batch.sequences=8", "log.generations.every_steps=12"}));
}

TEST_F(ShippedRuns, ShakespeareCharCpu) {
  const JobConfig j =
      job("gpt/shakespeare-char-cpu.yaml", {sample("data.train.files", "shakespeare.txt.gz"), "train.max_steps=20",
                                            "schedule.warmup_steps=4", "log.generations.every_steps=20"});
  expect_learning(j);
  const Dataset train = Dataset::open(at("prepared"), DataSplit::Train);
  EXPECT_EQ(train.header().target.vocabulary, 65);
  EXPECT_EQ(train.num_tokens(), 1003854);  // nanoGPT's split of the 1,115,394 characters
}

TEST_F(ShippedRuns, ShakespeareCharModern) {
  const JobConfig j =
      job("gpt/shakespeare-char-modern.yaml", {sample("data.train.files", "shakespeare.txt.gz"), "train.max_steps=20",
                                               "schedule.warmup_steps=4", "log.generations.every_steps=20"});
  EXPECT_EQ(expect_learning(j), 800'000);
}

TEST_F(ShippedRuns, OwnText) {
  expect_learning(job("gpt/own-text.yaml", {sample("data.train.files", "shakespeare.txt.gz"), "train.max_steps=8",
                                            "schedule.warmup_steps=2", "batch.sequences=4"}));
}

// The published model has 8,271,696 parameters.
TEST_F(ShippedRuns, Toy512) {
  if (!has_shared_data("text/quixote_oneline.txt")) GTEST_SKIP() << needs("text/quixote_oneline.txt");
  const JobConfig j =
      job("gpt/toy-512.yaml", {files("data.train.files", shared_data("text/quixote_oneline.txt").string()),
                               "train.max_steps=8", "schedule.warmup_steps=2", "batch.sequences=2"});
  EXPECT_EQ(expect_learning(j), 8271696);
}

TEST_F(ShippedRuns, QuixoteSmall) {
  if (!has_shared_data("text/quixote_oneline.txt")) GTEST_SKIP() << needs("text/quixote_oneline.txt");
  const JobConfig j =
      job("gpt/quixote-small.yaml",
          {files("data.train.files", shared_data("text/quixote_oneline.txt").string()), "train.max_steps=4",
           "schedule.warmup_steps=1", "batch.tokens=256", "log.generations.every_steps=0"});
  expect_learning(j);
  const Dataset train = Dataset::open(at("prepared"), DataSplit::Train);
  EXPECT_EQ(train.header().target.vocabulary, 24540);
  EXPECT_EQ(train.num_tokens(), 460559);
}

TEST_F(ShippedRuns, QuixoteHeldOut) {
  if (!has_shared_data("text/quixote.txt")) GTEST_SKIP() << needs("text/quixote.txt");
  expect_learning(job("gpt/quixote-held-out.yaml",
                      {files("data.train.files", shared_data("text/quixote.txt").string()), "train.max_steps=12",
                       "schedule.warmup_steps=4", "batch.sequences=2", "log.generations.every_steps=0"}));
}

TEST_F(ShippedRuns, NextPassage) {
  if (!has_shared_data("text/quixote_pairs.txt")) GTEST_SKIP() << needs("text/quixote_pairs.txt");
  const JobConfig j =
      job("translation/next-passage.yaml",
          {files("data.train.files", shared_data("text/quixote_pairs.txt").string()), "train.max_steps=6",
           "schedule.warmup_steps=2", "batch.tokens=512", "log.generations.every_steps=0"});
  expect_learning(j);
}

// The overrides that make a short run of a job on Multi30k.
std::vector<std::string> short_multi30k() {
  std::vector<std::string> overrides = {"train.max_steps=8", "schedule.warmup_steps=4", "batch.tokens=1024"};
  const std::pair<const char*, const char*> splits[] = {
      {"train", "train"}, {"valid", "val"}, {"test", "test_2016_flickr"}};
  for (const auto& [split, file] : splits) {
    for (const auto& [side, language] : {std::pair("source", "en"), std::pair("target", "de")}) {
      overrides.push_back(
          files(fmt::format("data.{}.{}", split, side),
                shared_data(fmt::format("multi30k/tok/{}.lc.norm.tok.{}.gz", file, language)).string()));
    }
  }
  return overrides;
}

TEST_F(ShippedRuns, Multi30kEnDeTiny) {
  if (!has_shared_data("multi30k/tok/train.lc.norm.tok.en.gz"))
    GTEST_SKIP() << needs("multi30k/tok/train.lc.norm.tok.en.gz");
  // 2.57 million with the 9,700 or so symbols of the published vocabulary; here the table is 10,258 x 128.
  EXPECT_EQ(expect_learning(job("translation/multi30k-en-de-tiny.yaml", short_multi30k())), 2638080);
}

TEST_F(ShippedRuns, Multi30kEnDeModern) {
  if (!has_shared_data("multi30k/tok/train.lc.norm.tok.en.gz"))
    GTEST_SKIP() << needs("multi30k/tok/train.lc.norm.tok.en.gz");
  EXPECT_EQ(expect_learning(job("translation/multi30k-en-de-modern.yaml", short_multi30k())), 2643712);
}

// The job reads any tab-separated pairs: here sentences of Multi30k side by side, with a third column that is ignored.
TEST_F(ShippedRuns, EnglishFrench128) {
  if (!has_shared_data("multi30k/val.en.gz")) GTEST_SKIP() << needs("multi30k/val.en.gz");
  if (!has_shared_data("gpt2/vocab.json")) GTEST_SKIP() << needs("gpt2/vocab.json");
  std::string sides[2];
  for (const int side : {0, 1}) {
    gzFile file = gzopen(shared_data(side == 0 ? "multi30k/val.en.gz" : "multi30k/val.de.gz").c_str(), "rb");
    char buffer[4096];
    for (int n; (n = gzread(file, buffer, sizeof buffer)) > 0;) sides[side].append(buffer, static_cast<size_t>(n));
    gzclose(file);
  }
  std::istringstream english(sides[0]);
  std::istringstream other(sides[1]);
  std::string table;
  for (std::string a, b; std::getline(english, a) && std::getline(other, b);) {
    table += fmt::format("{}\t{}\tignored\n", a, b);
  }
  const std::string path = scratch_.write("pairs.txt", table);
  const JobConfig j =
      job("translation/english-french-128.yaml",
          {files("data.train.files", path), "tokenizer.vocab_file=" + shared_data("gpt2/vocab.json").string(),
           "tokenizer.merges_file=" + shared_data("gpt2/merges.txt").string(), "train.max_steps=8",
           "schedule.warmup_steps=2", "log.generations.every_steps=8", "log.generations.max_tokens=5"});
  EXPECT_EQ(expect_learning(j), 22158801);  // docs/course_notes.md counts them
  const Dataset train = Dataset::open(at("prepared"), DataSplit::Train);
  ASSERT_EQ(train.header().source.vocabulary, 50257);
  std::vector<int32_t> row(static_cast<size_t>(train.source_length(0)));
  train.read_source(0, row);
  EXPECT_EQ(row.front(), 50256);  // <|endoftext|> at both ends
  EXPECT_EQ(row.back(), 50256);
}

}  // namespace
}  // namespace weft
