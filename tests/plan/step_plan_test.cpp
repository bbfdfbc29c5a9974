// SPDX-License-Identifier: Apache-2.0
// The figures of weft plan before a dataset exists.
#include "plan/step_plan.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "bench/synthetic_data.h"
#include "kernels/device/devices.h"
#include "tests/data/dataset/fixture.h"
#include "tests/plan/unprepared_job.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

fs::path configs() { return source_dir() / "configs"; }

// Matrices of attention (4 W^2) and of the feed-forward layer (8 W^2), their biases (9 W) and two norms (4 W) a layer;
// the tied table, positions, and the last norm.
int64_t gpt_parameters(const TransformerConfig& model, int64_t vocabulary) {
  const int64_t w = model.width;
  return model.layers * (12 * w * w + 13 * w) + (vocabulary + model.max_length) * w + 2 * w;
}

// "1.3b" stands for 1.3e9.
double stated_size(const std::string& stem) { return std::stod(stem) * (stem.back() == 'b' ? 1e9 : 1e6); }

TEST(StepPlan, Gpt3HasTheSizesItIsKnownBy) {
  int jobs = 0;
  for (const auto& entry : fs::directory_iterator(configs() / "gpt3")) {
    const std::string stem = entry.path().stem().string();
    const JobConfig job = unprepared_job("gpt3/" + stem + ".yaml", {"parallel.tp=4"});
    const StepPlan plan = plan_step(job, {.dp = 64, .tp = 4});
    EXPECT_EQ(plan.parameters, gpt_parameters(job.model, 50257)) << stem;
    EXPECT_NEAR(static_cast<double>(plan.parameters), stated_size(stem), 0.03 * stated_size(stem)) << stem;
    EXPECT_EQ(plan.target_tokens, job.batch.tokens) << stem;
    // 6 FLOPs a parameter and token (Kaplan et al. 2020, 2.1); attention and its recomputation add to them.
    const double products = 6.0 * static_cast<double>(plan.parameters * plan.target_tokens) / (64 * 4);
    EXPECT_GT(plan.flops, 0.9 * products) << stem;
    EXPECT_LT(plan.flops, 1.7 * products) << stem;
    ++jobs;
  }
  EXPECT_EQ(jobs, 8);
}

TEST(StepPlan, RowsWithoutALimitAreAsLongAsTheModelAllows) {
  const std::string name = "translation/english-french-128.yaml";
  const StepPlan stated = plan_step(unprepared_job(name), {.dp = 2});
  const StepPlan open =
      plan_step(unprepared_job(name, {"data.max_source_tokens=0", "data.max_target_tokens=0"}), {.dp = 2});
  EXPECT_EQ(stated.target_tokens, 16 * 128);
  EXPECT_EQ(open.target_tokens, stated.target_tokens);
  EXPECT_EQ(open.peak_bytes, stated.peak_bytes);
  const StepPlan shorter = plan_step(unprepared_job(name, {"data.max_target_tokens=65"}), {.dp = 2});
  EXPECT_EQ(shorter.target_tokens, 16 * 64);
}

// Memory for backward grows with a micro-batch's tokens and shrinks with recomputation; weights do not change.
TEST(StepPlan, BreaksDownTheMemory) {
  const auto plan = [](const std::vector<std::string>& overrides) {
    return plan_step(unprepared_job("gpt3/125m.yaml", overrides), {.dp = 8, .tp = 2});
  };
  const StepPlan one = plan({"parallel.tp=2"}), two = plan({"parallel.tp=2", "batch.micro_batch_tokens=4096"});
  const StepPlan none = plan({"parallel.tp=2", "train.recompute=none"}),
                 block = plan({"parallel.tp=2", "train.recompute=block"});
  EXPECT_NEAR(static_cast<double>(two.activation_bytes) / static_cast<double>(one.activation_bytes), 2, 0.1);
  EXPECT_EQ(two.weight_bytes, one.weight_bytes);
  EXPECT_EQ(two.optimizer_bytes, one.optimizer_bytes);
  EXPECT_LT(one.activation_bytes, none.activation_bytes);
  EXPECT_LT(block.activation_bytes, one.activation_bytes / 2);
  EXPECT_GT(block.flops, none.flops * 1.1);
  // tp halves everything; ZeRO 1 leaves a replica an eighth of the fp32 masters and of the two moments.
  const auto share = static_cast<double>(one.parameters) / 2;
  EXPECT_NEAR(static_cast<double>(one.weight_bytes), share * (2 + 4.0 / 8), 0.05 * share * 2.5);
  EXPECT_NEAR(static_cast<double>(one.optimizer_bytes), share * 8 / 8, 0.06 * share);
}

TEST(StepPlan, GradientsInBf16AreHalfOfWhatIsSent) {
  const auto sent = [](const std::string& zero, const std::string& dtype) {
    const StepPlan plan =
        plan_step(unprepared_job("gpt3/125m.yaml", {"parallel.zero_stage=" + zero, "parallel.gradient_dtype=" + dtype}),
                  {.dp = 8});
    EXPECT_EQ(plan.gathers_weights, zero != "0");
    return plan.moved("dp");
  };
  EXPECT_DOUBLE_EQ(sent("0", "bf16"), sent("0", "fp32") / 2);
  // The weights that are gathered, here in 2 bytes, are sent as before.
  EXPECT_DOUBLE_EQ(sent("1", "bf16"), sent("1", "fp32") * (2 + 2) / (4 + 2));
}

// Masters and two moments of each parameter, in fp32. Replicas that divide them write equal shares; replicas that all
// hold them write about equal shares, in whole tensors, so that one replica writes the largest.
TEST(StepPlan, CountsTheCopyThatASaveWritesFrom) {
  const JobConfig job = unprepared_job("gpt3/125m.yaml"),
                  whole = unprepared_job("gpt3/125m.yaml", {"parallel.zero_stage=0"});
  const auto copy = [](const JobConfig& j, int dp) {
    return static_cast<double>(plan_step(j, {.dp = dp}).snapshot_bytes);
  };
  const auto all = static_cast<double>(12 * plan_step(job, {.dp = 1}).parameters);
  EXPECT_NEAR(copy(job, 1), all, 0.01 * all);
  EXPECT_NEAR(copy(job, 8), all / 8, 0.05 * all / 8);
  EXPECT_NEAR(copy(whole, 1), all, 0.01 * all);
  EXPECT_GE(copy(whole, 8), all / 8);
  EXPECT_LT(copy(whole, 8), all / 2);
}

// The same step, with the workspace of CUDA's operations; no device is needed.
TEST(StepPlan, ACudaDeviceNeedNotBeThere) {
  JobConfig job = unprepared_job("gpt3/125m.yaml");
  job.train.output_chunk_mib = 128;  // Both devices then keep as many logits.
  const auto plan = [&job] { return plan_step(job, {.dp = 8}, {.cuda = true}); };
  if (!cuda_devices().built) {
    EXPECT_NE(test::error_of(plan).find("-DWEFT_CUDA=ON"), std::string::npos);
    return;
  }
  const StepPlan cuda = plan(), cpu = plan_step(job, {.dp = 8});
  EXPECT_EQ(cuda.parameters, cpu.parameters);
  EXPECT_EQ(cuda.target_tokens, cpu.target_tokens);
  EXPECT_EQ(cuda.traffic.size(), cpu.traffic.size());
  EXPECT_NEAR(cuda.flops / cpu.flops, 1, 0.01);  // the vocabulary has another padding
  EXPECT_NEAR(static_cast<double>(cuda.peak_bytes) / static_cast<double>(cpu.peak_bytes), 1, 0.2);
  job.train.output_chunk_mib = 0;
  EXPECT_GT(plan().peak_bytes, cuda.peak_bytes);  // by default a device has more of them
}

// The gradients of the other two biases of a layer are sums over what norm's backward pass has in registers.
TEST(StepPlan, OnlyBiasesBeforeAttentionAndAnActivationAreSummedApart) {
  const auto passes = [](const std::string& bias) {
    const StepPlan plan = plan_step(unprepared_job("gpt3/125m.yaml", {"model.bias=" + bias}), {.dp = 1});
    int64_t sum = 0;
    for (const auto& [part, times] : plan.operations.at("linear_backward").parts) {
      if (part.kind == OperationKind::Memory) sum += times;
    }
    return sum / plan.micro_batches;
  };
  EXPECT_EQ(passes("true") - passes("false"), 12 * 2);
}

// A graph keeps the memory of its step. Steps of the same shape need no other; pairs have steps without a graph too.
TEST(StepPlan, CountsTheMemoryThatGraphsKeep) {
  if (!cuda_devices().built) return;
  const auto peak = [](const std::string& name, const std::string& graphs) {
    const JobConfig job = unprepared_job(name, {"train.graphs=" + graphs});
    return static_cast<double>(plan_step(job, {}, {.cuda = true}).peak_bytes);
  };
  EXPECT_EQ(peak("sample/gpt.yaml", "auto"), peak("sample/gpt.yaml", "true"));
  EXPECT_NEAR(peak("sample/gpt.yaml", "auto") / peak("sample/gpt.yaml", "false"), 1, 0.05);
  const JobConfig pairs = unprepared_job("sample/translation.yaml");
  const StepPlan plan = plan_step(pairs, {}, {.cuda = true});
  const double more = peak("sample/translation.yaml", "auto") - peak("sample/translation.yaml", "false");
  EXPECT_GE(more, static_cast<double>(plan.activation_bytes));
  EXPECT_LE(more, peak("sample/translation.yaml", "false"));
}

TEST(StepPlan, AnUnknownVocabularyIsAnError) {
  const JobConfig unknown = unprepared_job("gpt/shakespeare-char-cpu.yaml");
  EXPECT_FALSE(can_be_planned(unknown));
  EXPECT_THROW(planned_vocabularies(unknown), ConfigError);
  EXPECT_TRUE(can_be_planned(unprepared_job("sample/gpt.yaml")));
}

// Each language has a tokenizer: the job states both vocabularies or neither.
TEST(StepPlan, BothVocabulariesMustBeKnown) {
  const std::string name = "translation/english-french-128.yaml";
  EXPECT_FALSE(can_be_planned(unprepared_job(name, {"target_tokenizer.kind=chars"})));
  const JobConfig both = unprepared_job(name, {"target_tokenizer.kind=bytes", "target_tokenizer.specials=[<s>]"});
  EXPECT_EQ(planned_vocabularies(both).source, 50257);
  EXPECT_EQ(planned_vocabularies(both).target, 257);
}

// The vocabularies (source, target) that weft plan and weft bench take for a job; nothing if they are not known.
using Sizes = std::pair<int64_t, int64_t>;
std::optional<Sizes> planned(const JobConfig& job) {
  if (!can_be_planned(job)) return std::nullopt;
  const Vocabularies v = planned_vocabularies(job);
  return Sizes{v.source, v.target};
}
std::optional<Sizes> benched(const JobConfig& job) {
  try {
    const Vocabularies v = make_synthetic_data(job, {}).vocabularies;
    return Sizes{v.source, v.target};
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

// A dataset of few tokens for `job`, with vocabularies that no configuration states.
void prepare_small(const JobConfig& job, const fs::path& directory) {
  const DatasetBuilder builder{.directory = directory, .vocabulary = 777, .shard_tokens = 100'000};
  if (job.is_translation()) {
    builder.pairs(IdPairs(2000, {{1, 2, 3}, {4, 5, 6}}));
  } else {
    builder.stream({Ids(600'000, 7)});
  }
}

TEST(StepPlan, PlanAndBenchAgreeOnEveryShippedJob) {
  int known = 0, jobs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(configs())) {
    const fs::path& path = entry.path();
    if (path.extension() != ".yaml" || path.parent_path().filename() == "shared") continue;
    if (path.parent_path().filename() == "finetune") continue;  // the model is that of a checkpoint
    const std::string name = path.lexically_relative(configs());
    const JobConfig before = unprepared_job(name);
    EXPECT_EQ(planned(before), benched(before)) << name;
    known += planned(before).has_value();
    ++jobs;

    const Scratch scratch;
    prepare_small(before, scratch.path());
    JobConfig after = before;
    after.data.directory = scratch.path();
    if (after.model.tying == Tying::All) after.target_tokenizer.reset();
    ASSERT_TRUE(planned(after).has_value()) << name;
    EXPECT_EQ(planned(after), benched(after)) << name;
    EXPECT_EQ(planned(after)->second, 777) << name;
  }
  EXPECT_EQ(jobs, 35);
  EXPECT_EQ(known, 33);  // all but the two whose vocabulary is the characters of their text
}

TEST(StepPlan, MergesStateAVocabulary) {
  const JobConfig job = unprepared_job("gpt/quixote-small.yaml");
  ASSERT_GT(job.tokenizer.merges, 0);
  EXPECT_EQ(planned(job)->second, 256 + job.tokenizer.merges + std::ssize(job.tokenizer.specials));
}

}  // namespace
}  // namespace weft
