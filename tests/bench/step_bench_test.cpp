// SPDX-License-Identifier: Apache-2.0
// weft bench without its command line: synthetic data, the parts of a step, the figures made of them.
#include "bench/step_bench.h"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "job/named_jobs.h"
#include "model/transformer.h"
#include "parallel/local/in_process.h"
#include "tests/support/scratch.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

JobConfig small_gpt() {
  JobConfig job;
  job.model = {.layers = 2, .width = 32, .heads = 4, .max_length = 16};
  job.batch = {.sequences = 3, .context_length = 16};
  return job;
}

JobConfig small_translation() {
  JobConfig job;
  job.task = Task::Translation;
  job.model = {.layers = 1, .encoder_layers = 1, .width = 32, .heads = 4, .max_length = 32, .tying = Tying::All};
  job.batch = {.tokens = 100, .order = BatchOrder::Bucketed};
  return job;
}

BenchReport bench(const JobConfig& job, const SyntheticOptions& data, const BenchOptions& options) {
  Context context;
  Mesh mesh = Mesh::single();
  return bench_steps(context, mesh, job, make_synthetic_data(job, data), options);
}

TEST(StepBench, EveryClockIsInOnePart) {
  // Of 10 s: 1 for data, 2.5 in collectives (0.5 of them in the control all-reduce), 1.5 for the update.
  const StepParts parts = step_parts({.total = 10, .data = 1, .waited = 2.5, .waited_for_world = 0.5, .update = 1.5});
  EXPECT_DOUBLE_EQ(parts.total, 10);
  EXPECT_DOUBLE_EQ(parts.data, 1);
  EXPECT_DOUBLE_EQ(parts.exposed, 2);
  EXPECT_DOUBLE_EQ(parts.control, 0.5);
  EXPECT_DOUBLE_EQ(parts.update, 1.5);
  EXPECT_DOUBLE_EQ(parts.compute, 5);
}

// A host that only queues kernels waits in no collective; the time that its device waits is not compute.
TEST(StepBench, WhatADeviceWaitsIsExposed) {
  const StepParts parts =
      step_parts({.total = 10, .data = 1, .waited = 0.5, .waited_for_world = 0.5, .update = 1.5, .device_waited = 3});
  EXPECT_DOUBLE_EQ(parts.exposed, 3);
  EXPECT_DOUBLE_EQ(parts.compute, 4);
  EXPECT_DOUBLE_EQ(parts.control, 0.5);
}

TEST(StepBench, StepsTakeNoMoreThanTheTimeThatPasses) {
  const auto start = std::chrono::steady_clock::now();
  const BenchReport r = bench(small_gpt(), {.vocabulary = 50}, {.warmup = 1, .steps = 4, .peak = false});
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  ASSERT_EQ(r.steps.size(), 4u);
  for (const StepParts& p : r.steps) {
    EXPECT_GT(p.compute, 0);
    EXPECT_GT(p.update, 0);
    for (const double part : {p.data, p.exposed, p.control}) EXPECT_GE(part, 0);
  }
  EXPECT_LT(r.seconds(), passed.count());
  EXPECT_EQ(r.skipped, 0);
  EXPECT_NEAR(r.loss, std::log(50.0), 0.5);  // an untrained model predicts nearly uniformly
}

TEST(StepBench, FiguresFollowTheFormula) {
  const JobConfig job = small_gpt();
  const BenchReport r = bench(job, {.vocabulary = 50}, {.warmup = 0, .steps = 3, .peak = false});
  EXPECT_EQ(r.target_tokens, std::vector<int64_t>(3, 3 * 16));
  // 50 x 32 and 16 x 32 embeddings; two blocks of 12 x 32^2 weights, 9 x 32 biases and two norms; the last norm
  EXPECT_EQ(r.parameters, 66 * 32 + 2 * (12 * 32 * 32 + 9 * 32 + 4 * 32) + 2 * 32);
  EXPECT_DOUBLE_EQ(r.model_flops, 3 * 48 * (6.0 * static_cast<double>(r.parameters) + 6.0 * 2 * 32 * 16));
  EXPECT_DOUBLE_EQ(r.gflops(), r.model_flops * 1e-9 / r.seconds());
  EXPECT_DOUBLE_EQ(r.tokens_per_second(), 144 / r.seconds());
  EXPECT_GT(r.peak_tensor_bytes, 4 * 4 * r.parameters);  // weights, gradients, two moments
  EXPECT_GT(r.peak_process_bytes, r.peak_tensor_bytes);
}

TEST(StepBench, TranslationCountsProductsAndAttention) {
  const BenchReport r = bench(small_translation(), {.vocabulary = 40}, {.warmup = 1, .steps = 2, .peak = false});
  int64_t rows = 0, targets = 0;
  for (size_t i = 0; i < 2; ++i) rows += r.rows[i], targets += r.target_tokens[i];
  // Six FLOPs a weight and row: 12 x 32^2 in the encoder; for cross-attention 4 x 32^2 more in the decoder; the output.
  const double source = static_cast<double>(rows - targets), target = static_cast<double>(targets);
  const double products = 6.0 * 32 * 32 * (12 * source + 14 * target + 2 * source) + 6.0 * 40 * 32 * target;
  EXPECT_GT(r.model_flops, products);
  EXPECT_LT(r.model_flops, 1.3 * products);
}

TEST(StepBench, EveryLayoutReportsOnEveryRank) {
  const JobConfig job = small_gpt();
  const SyntheticData data = make_synthetic_data(job, {.vocabulary = 50});
  const double alone = bench(job, {.vocabulary = 50}, {.warmup = 0, .steps = 2, .peak = false}).loss;
  run_in_process({.dp = 3}, [&](Mesh& mesh, int) {
    Context context;
    const BenchReport r = bench_steps(context, mesh, job, data, {.warmup = 0, .steps = 2, .peak = false});
    EXPECT_EQ(r.layout.dp, 3);
    EXPECT_EQ(r.target_tokens, std::vector<int64_t>(2, 48));
    EXPECT_EQ(r.rank_compute.size(), 3u);
    EXPECT_NEAR(r.loss, alone, 1e-4);
    for (const double seconds : r.rank_compute) EXPECT_GT(seconds, 0);
  });
}

TEST(StepBench, ThePeakIsAProductOfTheSameRun) {
  Context context;
  const PeakGflops peak = measure_peak_gflops(context, DType::F32, 1);
  EXPECT_GT(peak.gflops, 0.1);
  EXPECT_NE(peak.shape.find(" x "), std::string::npos);
  EXPECT_EQ(context.memory().use().lent, 0u);
}

TEST(StepBench, JsonFieldsAreDocumentedAndUnknownValuesAreNull) {
  const BenchReport r = bench(small_gpt(), {.vocabulary = 50}, {.warmup = 0, .steps = 1, .peak = false});
  const auto json = to_json(r);
  EXPECT_TRUE(json["ceiling_gflops"].is_null());
  EXPECT_TRUE(json["ceiling_share"].is_null());
  EXPECT_TRUE(json["hardware_peak_gflops"].is_null());
  EXPECT_EQ(json["steps"].size(), 1u);
  const std::string page = read_file(source_dir() / "bench" / "README.md");
  std::vector<std::string> names;
  for (const auto& [key, value] : json.items()) names.push_back(key);
  for (const auto& [key, value] : json["mean_seconds"].items()) names.push_back("mean_seconds." + key);
  for (const char* key : {"steps[].target_tokens", "steps[].rows"}) names.push_back(key);
  for (const std::string& name : names) EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
}

TEST(StepBench, UnknownFiguresAreNamedOnThePage) {
  BenchReport r = bench(small_gpt(), {.vocabulary = 50}, {.warmup = 2, .steps = 1, .peak = false});
  const std::string text = describe(r);
  for (const char* part : {"1 step after 2", "compute", "exposed communication", "control", "optimizer", "data wait",
                           "6 N + 6 x layers x width x T", "MFU: n/a", "peak: not measured"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(text.find("graphs"), std::string::npos);
  r.replayed = 1;
  EXPECT_NE(describe(r).find("replayed as CUDA graphs: 1 of 1 step\n"), std::string::npos);
  r.captured = 1;
  EXPECT_NE(describe(r).find("0 of 1 step; 1 were captured and 0 queued operation by operation"), std::string::npos);
  r.peak = {.gflops = 2 * r.gflops(), .shape = "8 x 8 x 8"};
  EXPECT_NE(describe(r).find("50.0 % of the measured peak"), std::string::npos);
}

TEST(StepBench, OperationsAreTimedAfterwards) {
  const BenchReport r =
      bench(small_gpt(), {.vocabulary = 50}, {.warmup = 0, .steps = 2, .peak = false, .operations = true});
  const Ledger::Entry& attention = r.operations.at("attention_forward");
  EXPECT_EQ(attention.calls, 2 * 2);  // two layers, two steps
  EXPECT_GT(attention.seconds, 0);
  EXPECT_NE(describe(r).find("attention_forward"), std::string::npos);
  EXPECT_EQ(to_json(r)["operations"]["adam_update"]["calls"], 2);
}

TEST(SyntheticData, TokensDependOnSequenceAndPlaceAlone) {
  const auto reader = make_random_reader({.source = 7, .target = 11}, 3);
  std::vector<int32_t> source(200), target(300), again(100), other(100);
  reader->read({.index = 5}, source, target);
  reader->read({.index = 5}, {}, again);
  reader->read({.index = 6}, {}, other);
  EXPECT_EQ(again, std::vector<int32_t>(target.begin(), target.begin() + 100));
  EXPECT_NE(again, other);
  EXPECT_EQ(std::set<int32_t>(source.begin(), source.end()).size(), 7u);
  EXPECT_EQ(*std::ranges::max_element(target), 10);
  EXPECT_EQ(*std::ranges::min_element(target), 0);
}

TEST(SyntheticData, LengthsComeFromTheFile) {
  const Scratch scratch;
  JobConfig job = small_translation();
  job.batch = {.sequences = 3};
  const SyntheticData data =
      make_synthetic_data(job, {.vocabulary = 40, .lengths = scratch.write("lengths", "3 4\n5 6\n7 1\n")});
  std::multiset<std::pair<int, int>> rows;
  for (const PlannedSequence& s : data.plan->step(0, 0).sequences) rows.insert({s.source_tokens, s.input_tokens});
  EXPECT_EQ(rows, (std::multiset<std::pair<int, int>>{{3, 4}, {5, 6}, {7, 1}}));
}

TEST(SyntheticData, BadLengthsNameTheLine) {
  const Scratch scratch;
  const JobConfig job = small_translation();
  for (const char* bad : {"0 4", "3", "3 4 5", "a b", "99999999 3", ""}) {
    const std::string path = scratch.write("lengths", std::string("3 4\n") + bad + "\n");
    try {
      make_synthetic_data(job, {.vocabulary = 40, .lengths = path});
      ADD_FAILURE() << bad;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(path + ":2"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(make_synthetic_data(job, {.vocabulary = 40, .lengths = scratch.write("lengths", "")}), DataError);
  EXPECT_THROW(make_synthetic_data(job, {.vocabulary = 40, .lengths = scratch.write("lengths", "33 4")}), ConfigError);
  EXPECT_THROW(make_synthetic_data(small_gpt(), {.vocabulary = 40, .lengths = scratch.write("lengths", "3 4")}),
               ConfigError);
}

TEST(SyntheticData, AVocabularyIsStatedOrAskedFor) {
  JobConfig job = small_gpt();
  job.tokenizer = {.kind = TokenizerKind::Bpe, .merges = 100, .specials = {"<s>"}};
  EXPECT_EQ(make_synthetic_data(job, {}).vocabularies.target, 357);
  job.tokenizer = {.kind = TokenizerKind::Bytes};
  EXPECT_EQ(make_synthetic_data(job, {}).vocabularies.target, 256);
  EXPECT_EQ(make_synthetic_data(job, {}).vocabularies.source, 0);
  job.tokenizer = {.kind = TokenizerKind::Words, .vocabulary = 30};
  EXPECT_EQ(make_synthetic_data(job, {}).vocabularies.target, 30);
  job.tokenizer = {.kind = TokenizerKind::Chars};
  try {
    make_synthetic_data(job, {});
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_NE(error.hint().find("--vocabulary"), std::string::npos);
  }
}

TEST(BenchJobs, NamedModelsAreWholeJobs) {
  for (const BenchJob& bench : bench_jobs()) {
    EXPECT_NO_THROW(check_shapes(bench.job)) << bench.name;
    EXPECT_EQ(&find_bench_job(bench.name), &bench);
    EXPECT_NO_THROW(make_synthetic_data(bench.job, {.vocabulary = bench.vocabulary}));
  }
  try {
    find_bench_job("gpt5");
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_NE(error.hint().find(
                  "gpt2-124m, gpt2-350m, gpt2-774m, gpt2-1558m, llama-124m, llama-350m, char, transformer-tiny"),
              std::string::npos);
  }
}

// The numbers of parameters that the models are known by.
TEST(BenchJobs, NamedModelsHaveTheKnownParameters) {
  for (const auto& [name, parameters] : std::vector<std::pair<std::string, int64_t>>{{"gpt2-124m", 124'439'808},
                                                                                     {"gpt2-1558m", 1'557'611'200},
                                                                                     {"llama-124m", 123'551'232},
                                                                                     {"llama-350m", 359'794'688},
                                                                                     {"char", 804'096}}) {
    const BenchJob& bench = find_bench_job(name);
    Context context({DeviceKind::Meta});
    Mesh mesh = Mesh::single();
    const ModelSpec spec{.config = bench.job.model, .vocabularies = {.target = bench.vocabulary}};
    EXPECT_EQ(make_model(context, mesh, spec)->parameters().global_elements(), parameters) << name;
  }
}

}  // namespace
}  // namespace weft
