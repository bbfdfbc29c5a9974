// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"

#include <gtest/gtest.h>

#include "base/config/writer.h"
#include "base/error.h"
#include "job/changes.h"
#include "job/migration.h"
#include "kernels/device/devices.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

JobConfig gpt_job() {
  return parse_config<JobConfig>(R"(
task: gpt
data: {directory: d, train: {files: [t.txt]}, split: hash, valid_fraction: 0.1}
tokenizer: {kind: bytes}
batch: {sequences: 4}
train: {max_steps: 100}
)",
                                 "job.yaml");
}

JobConfig translation_job() {
  return parse_config<JobConfig>(R"(
task: translation
data: {directory: d, format: tsv, train: {files: [t.tsv]}, valid: {files: [v.tsv]}}
tokenizer: {kind: bpe, vocabulary: 1000, specials: [<s>, </s>], bos: <s>, eos: </s>}
model: {encoder_layers: 2}
batch: {tokens: 1000, order: bucketed}
train: {max_steps: 100}
)",
                                 "job.yaml");
}

std::string problems_of(const JobConfig& job) {
  std::string text;
  for (const std::string& problem : job_problems(job)) text += problem + "\n";
  return text;
}

TEST(Job, SoundJobsHaveNoProblems) {
  EXPECT_EQ(problems_of(gpt_job()), "");
  EXPECT_EQ(problems_of(translation_job()), "");
  EXPECT_NO_THROW(check_job(gpt_job()));
}

struct Contradiction {
  const char* override_text;
  const char* message;
};

std::string with_override(const JobConfig& job, const char* override_text) {
  return problems_of(parse_config<JobConfig>(to_yaml(job), "job.yaml", {override_text}));
}

void expect_all(const JobConfig& job, const std::vector<Contradiction>& contradictions) {
  for (const Contradiction& c : contradictions) {
    const std::string found = with_override(job, c.override_text);
    EXPECT_NE(found.find(c.message), std::string::npos) << c.override_text << "\nfound: " << found;
  }
}

TEST(Job, ContradictionsSayWhatToChange) {
  expect_all(
      gpt_job(),
      {{"name=a/b", "name: 'a/b' is not the name of a folder"},
       {"name=\"\"", "name: '' is not the name of a folder"},
       {"model.heads=5", "model.heads: 5 does not divide model.width 128; use one of 1, 2, 4, 8, 16"},
       {"model.kv_heads=3", "model.kv_heads: 3 does not divide model.heads 4; use one of 1, 2, 4"},
       {"parallel.tp=3", "parallel.tp: 3 does not divide the 4 key/value heads; use one of 1, 2, 4"},
       {"parallel.tp=8", "parallel.tp: 8 does not divide the 4 key/value heads"},
       {"model.embedding_width=64", "model.tying: an embedding of width 64 cannot serve as the output of width 128"},
       {"model.padding_id=0", "model.padding_id: the row of a table that is also the output is trained"},
       {"model.cross_norm=memory", "model.cross_norm: a model without an encoder has no cross-attention"},
       {"model.attention_windows=[1,2,3,4,5]", "model.attention_windows: it has 5 entries for the 4 blocks of a stack"},
       {"model.activation=none", "model.activation: none makes the feed-forward layer linear"},
       {"model.encoder_layers=1", "model.encoder_layers: gpt has no encoder"},
       {"model.tying=all", "model.tying: gpt has no source to tie"},
       {"target_tokenizer={kind: bytes}", "target_tokenizer: gpt has one tokenizer"},
       {"data.format=tsv", "data.format: tsv has two languages"},
       {"batch.context_length=257",
        "batch.context_length: 257 tokens are more than the 256 positions of model.max_length"},
       {"batch.sequences=0", "batch"},
       {"tokenizer.kind=gpt2", "tokenizer: kind gpt2 needs `vocab_file`"},
       {"data.directory=\"\"", "data: `directory` is not set"},
       {"data.mixture=[{weight: 2}]", "data: a dataset of `mixture` has no `directory`"},
       {"data.mixture=[{directory: more}, {directory: more/}]", "data: more/ is mixed with itself"},
       {"train.max_steps=0", "so the run never ends; set one of them"},
       {"train.trace=[5]", "train.trace: it is [5]; give the first and the last of at most 1000 steps: [10, 12]"},
       {"train.trace=[5, 4]", "train.trace: it is [5, 4]; give the first and the last of at most 1000 steps"},
       {"train.trace=[1, 1001]", "train.trace: it is [1, 1001]; give the first and the last of at most 1000 steps"},
       {"schedule.warmup_steps=101",
        "schedule.warmup_steps: 101 steps do not fit the 100 of train.max_steps; lower it"},
       {"optimizer.momentum=0.9", "optimizer.momentum: it has no effect with adamw"},
       {"train.spikes.window=1", "train.spikes.window: one step has no standard deviation"},
       {"train.on_divergence=roll_back", "train.on_divergence: there is no checkpoint to roll back to"},
       {"evaluation.patience=3", "evaluation.patience: nothing is evaluated"},
       {"checkpoint.keep_epochs=3", "checkpoint.keep_epochs: no checkpoint is made at an epoch's end"},
       {"log.generations.every_steps=3", "log.generations.every_steps: there is nothing to generate from"}});
}

TEST(Job, CompiledOutFeaturesAreKnownByName) {
  const std::string found = with_override(gpt_job(), "device=cuda");
  const bool refused = found.find("device: cuda needs CUDA, and this weft is built without it") != std::string::npos;
  EXPECT_EQ(refused, !cuda_devices().built) << found;
  EXPECT_EQ(found.find("unknown"), std::string::npos) << found;
  EXPECT_EQ(with_override(gpt_job(), "device=cpu"), "");
}

TEST(Job, WaysToMultiplyThatNothingWouldTake) {
  JobConfig job = gpt_job();
  job.train.tf32 = true;
  EXPECT_EQ(with_override(job, "device=auto"), "");
  EXPECT_NE(with_override(job, "device=cpu").find("train.tf32: it applies to CUDA devices only"), std::string::npos);
  EXPECT_NE(with_override(job, "train.precision=bf16").find("train.tf32: it only applies to precision: fp32, and "),
            std::string::npos);
  job = gpt_job();
  job.train.algorithms_file = "shared.json";
  EXPECT_EQ(with_override(job, "train.algorithms=measured"), "");
  EXPECT_NE(with_override(job, "train.algorithms=first").find("train.algorithms_file: "), std::string::npos);
  EXPECT_TRUE(changes_training("train.tf32"));
  EXPECT_FALSE(changes_training("train.algorithms"));
}

TEST(Job, BucketsOfGradientsAreAsTheDeviceAndTheReplicasSay) {
  const auto mib = [](Context& context, int replicas) {
    return JobConfig().parallel.sharding(context.planned_device(), replicas).bucket_bytes >> 20;
  };
  Context cpu, planned_cpu(Device{DeviceKind::Meta});
  for (const int replicas : {1, 8, 1000}) {
    EXPECT_EQ(mib(cpu, replicas), 8);
    EXPECT_EQ(mib(planned_cpu, replicas), 8);
  }
  if (!cuda_devices().built) return;
  const auto planned = plan_for_cuda(1);
  EXPECT_EQ(mib(*planned, 2), 25);
  EXPECT_EQ(mib(*planned, 64), 32);
  EXPECT_EQ(mib(*planned, 1000), 256);
}

TEST(Job, ADeviceIsSharedWhereThereIsOne) {
  const JobConfig job = job_with(gpt_job(), {"parallel.share_device=true"});
  EXPECT_EQ(job.parallel.shared_devices(), SharedDevices::Allowed);
  EXPECT_EQ(with_override(job, "device=auto"), "");
  EXPECT_NE(with_override(job, "device=cpu").find("parallel.share_device: "), std::string::npos);
  EXPECT_EQ(gpt_job().parallel.shared_devices(), SharedDevices::Refused);
}

TEST(Job, ANegativeZLossIsRefused) {
  EXPECT_NE(
      error_of([] { with_override(gpt_job(), "train.z_loss=-0.1"); }).find("train.z_loss: expected a number from 0"),
      std::string::npos);
}

TEST(Job, SameBitsNeedWhatTheyDependOnToBeStated) {
  JobConfig job = gpt_job();
  job.numerics = Numerics::SameBits;
  EXPECT_NE(problems_of(job).find("threads: results of numerics: same_bits depend on"), std::string::npos);
  EXPECT_NE(problems_of(job).find("batch.leaf_tokens: numerics: same_bits cuts steps"), std::string::npos);
  job.threads = 2, job.batch.leaf_tokens = 1024, job.device = DeviceChoice::Cpu;
  EXPECT_EQ(problems_of(job), "");
  EXPECT_EQ(job.batch.cut(), StepCut::Leaves);
  EXPECT_EQ(job.batch.most_tokens_at_once(), 1024);
  expect_all(job, {{"parallel.gradient_dtype=bf16", "parallel.gradient_dtype: numerics: same_bits sums exactly"},
                   {"device=auto", "train.algorithms: what is measured differs between starts"},
                   {"numerics=ordinary", "batch.leaf_tokens: numerics: ordinary has no leaves"}});
  job.device = DeviceChoice::Auto, job.train.algorithms = AlgorithmChoice::First;
  EXPECT_EQ(problems_of(job), "");
  job.train.algorithms = AlgorithmChoice::Measured, job.train.algorithms_file = "algorithms.json";
  EXPECT_EQ(problems_of(job), "");
}

TEST(Job, GraphsAreOfStepsWhoseShapesOccurAgain) {
  JobConfig job = gpt_job(), pairs = translation_job();
  EXPECT_EQ(job.train.graphs, GraphChoice::Auto);
  EXPECT_TRUE(job.repeats_shapes());
  EXPECT_EQ(with_override(job, "device=cpu"), "");
  EXPECT_EQ(with_override(job, "data.document_mask=true"), "");
  EXPECT_FALSE(job_with(gpt_job(), {"data.document_mask=true"}).repeats_shapes());
  job.train.graphs = pairs.train.graphs = GraphChoice::On;
  EXPECT_EQ(with_override(job, "device=auto"), "");
  EXPECT_NE(with_override(job, "device=cpu").find("train.graphs: CUDA graphs need a CUDA device"), std::string::npos);
  EXPECT_EQ(with_override(job, "train.attention=cudnn"), "");
  EXPECT_EQ(with_override(pairs, "device=auto"), "");
  EXPECT_NE(with_override(job, "data.document_mask=true").find("data.document_mask cuts the windows of each step"),
            std::string::npos);
  EXPECT_NE(with_override(pairs, "data.document_mask=true").find("document_mask is for streams of documents"),
            std::string::npos);
  EXPECT_TRUE(changes_training("data.document_mask"));
  EXPECT_FALSE(changes_training("train.graphs"));
}

// Jobs and checkpoints of the time when the key was a boolean have its values.
TEST(Job, GraphsAreWrittenAndReadAsBooleansToo) {
  for (const auto& [text, choice] : {std::pair("true", GraphChoice::On), std::pair("True", GraphChoice::On),
                                     std::pair("false", GraphChoice::Off), std::pair("auto", GraphChoice::Auto)}) {
    const JobConfig job = job_with(gpt_job(), {fmt::format("train.graphs={}", text)});
    EXPECT_EQ(job.train.graphs, choice) << text;
    EXPECT_EQ(parse_stored_job(to_yaml(job), "stored").train.graphs, choice) << text;
    EXPECT_EQ(to_yaml(job).find("graphs: \""), std::string::npos) << "a plain scalar";
  }
}

TEST(Job, ContradictionsOfTranslation) {
  expect_all(
      translation_job(),
      {{"data.format=text", "data.format: text has one language; translation needs parallel or tsv"},
       {"model.encoder_layers=0", "translation needs an encoder, set it to 1 or more"},
       {"model={cross_norm: memory, norm_placement: post}", "model.cross_norm: memory needs norms before branches"},
       {"model={cross_norm: memory, norm_placement: branch}", "model.cross_norm: memory needs norms before branches"},
       {"model={positions: rotary, head_dim: 7}",
        "model.head_dim: rotary positions turn pairs of features, and 7 is odd"},
       {"model={qk_norm: head, head_dim: 1026}", "cosine scores take heads of up to 1024 features, not 1026"},
       {"model={rotary: {scaling: llama3, low_frequency_factor: 4}}",
        "model.rotary.high_frequency_factor: 4 is not above"},
       {"model={attention_score: cosine, qk_norm: head}", "model.qk_norm: a cosine leaves nothing of the lengths"},
       {"model={norm_kind: rms, norm_bias: true}", "model.norm_bias: RMSNorm (model.norm_kind: rms) has no bias"},
       {"data.max_source_tokens=300", "data.max_source_tokens: sequences of 300 tokens do not fit the 256 positions"},
       {"data.max_target_tokens=258", "data.max_target_tokens: sequences of 258 tokens do not fit the 256 positions"}});
  EXPECT_EQ(with_override(translation_job(), "data.max_target_tokens=257"), "");
  JobConfig two = translation_job();
  two.model.tying = Tying::All;
  EXPECT_EQ(problems_of(two), "");
  two.target_tokenizer = two.tokenizer;
  EXPECT_NE(problems_of(two).find("model.tying: all needs one vocabulary"), std::string::npos);
}

TEST(Job, TensorParallelRanksDivideHeadsAndFeatures) {
  JobConfig job = gpt_job();
  job.parallel.tp = 4;
  EXPECT_EQ(problems_of(job), "");
  job.model.ffn = 30;
  EXPECT_EQ(problems_of(job),
            "parallel.tp: 4 does not divide the 30 features of ffn; use one of 1, 2, 3, 5, 6, 10, 15, 30\n");
}

TEST(Job, EvaluationNeedsAValidationSplit) {
  JobConfig job = gpt_job();
  job.evaluation.every_steps = 10;
  EXPECT_EQ(problems_of(job), "");
  job.data.valid_fraction = 0;
  job.data.test_fraction = 0.1;
  EXPECT_NE(problems_of(job).find("evaluation: there is no validation split"), std::string::npos) << problems_of(job);
}

TEST(Job, AllContradictionsComeAtOnce) {
  JobConfig job = gpt_job();
  job.model.heads = 5;
  job.train.max_steps = 0;
  job.parallel.tp = 3;
  try {
    check_job(job);
    FAIL();
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("model.heads"), std::string::npos);
    EXPECT_NE(text.find("\nparallel.tp"), std::string::npos);
    EXPECT_NE(text.find("\ntrain.max_steps"), std::string::npos);
    EXPECT_EQ(error.code(), ExitCode::BadConfig);
  }
}

// A missing key is placed at its section, and a key of an override at the override.
TEST(Job, ContradictionsOfAFileHaveTheirPlace) {
  const Scratch scratch;
  const std::string yaml =
      "task: gpt\nname: a\ndata: {directory: d, train: {files: [t.txt]}}\ntokenizer: {kind: bytes}\n"
      "model:\n  heads: 3\n  width: 16\nbatch: {sequences: 4}\ntrain: {clip_norm: 1}\n";
  const std::string path = scratch.write("job.yaml", yaml);
  EXPECT_EQ(
      error_of([&] { load_job(path, {"evaluation.patience=2"}); }),
      path +
          ":6:3: model.heads: 3 does not divide model.width 16; use one of 1, 2, 4, 8, 16, or set "
          "model.head_dim\n" +
          path +
          ":9:1: train.max_steps: max_steps and train.max_epochs are both 0, so the run never ends; set one of them\n" +
          "--set evaluation.patience=2: evaluation.patience: nothing is evaluated; set evaluation.every_steps or "
          "every_epochs");
}

TEST(Job, ContextIsTheModelsLengthWhereItIsNotSet) {
  const std::string path = source_dir().string() + "/configs/gpt/gpt2-124m.yaml";
  EXPECT_EQ(load_job(path, {"batch.context_length=0"}).batch.context_length, 1024);
}

TEST(Job, AStoredJobIsResolvedToo) {
  EXPECT_EQ(parse_stored_job("model: {max_length: 77}", "manifest.json").batch.context_length, 77);
  EXPECT_EQ(parse_stored_job("{task: translation, model: {max_length: 77}}", "manifest.json").batch.context_length, 0);
  EXPECT_EQ(job_with({}, {"model.max_length=33"}).batch.context_length, 33);
}

TEST(Job, ShardingIsWhatTheSectionNames) {
  const JobConfig job = job_with({}, {"parallel.zero_stage=2", "parallel.gradient_bucket_mib=0.5"});
  const Device cpu;
  EXPECT_EQ(job.parallel.sharding(cpu, 2).zero, ZeroStage::Gradients);
  EXPECT_EQ(job.parallel.sharding(cpu, 2).bucket_bytes, 512 << 10);
  EXPECT_NE(to_yaml(job).find("zero_stage: 2\n"), std::string::npos);
}

TEST(Job, ZeroStagesAreNumbers) {
  const auto stage = [](const std::string& text) {
    return parse_config<JobConfig>("{parallel: {zero_stage: " + text + "}}", "job.yaml").parallel.zero_stage;
  };
  EXPECT_EQ(stage("0"), ZeroStage::Whole);
  EXPECT_EQ(stage("1"), ZeroStage::Optimizer);
  EXPECT_EQ(stage("2"), ZeroStage::Gradients);
  const std::string error = error_of([&] { stage("3"); });
  EXPECT_NE(error.find("parallel.zero_stage: expected one of 0, 1, 2, got 3 (an integer)"), std::string::npos) << error;
  EXPECT_EQ(tree_to_yaml(encode_config(job_with({}, {"parallel.zero_stage=1"}).parallel)).find('"'), std::string::npos);
}

TEST(Job, RunDirectoryIsNamedAfterTheJob) {
  JobConfig job;
  job.name = "x";
  EXPECT_EQ(job.run_directory(), fs::path("runs/x"));
  job.run_dir = "/elsewhere/y";
  EXPECT_EQ(job.run_directory(), fs::path("/elsewhere/y"));
}

}  // namespace
}  // namespace weft
