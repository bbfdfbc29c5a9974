// SPDX-License-Identifier: Apache-2.0
// The jobs in today's blocks: their parameters counted by hand, and what weft plan says of them.
#include <gtest/gtest.h>

#include "plan/step_plan.h"
#include "tests/plan/unprepared_job.h"

namespace weft {
namespace {

using test::unprepared_job;

// With width w, heads of d features and hidden features f, a block has matrices for queries and the output (2 w h d),
// for keys and values (2 w k d), three of a gated feed-forward layer (3 w f), and two gains w. After them come the last
// gain and one or two tables.
int64_t llama_parameters(const TransformerConfig& model, int64_t vocabulary) {
  const int64_t w = model.width, d = model.derived_head_dim(), f = model.derived_ffn();
  const int64_t attention = 2 * w * d * (model.heads + model.derived_kv_heads());
  return model.layers * (attention + 3 * w * f + 2 * w) + w + (model.tying == Tying::None ? 2 : 1) * vocabulary * w;
}

struct Llama {
  const char* job;
  int64_t vocabulary;
  int64_t parameters;
  MeshLayout layout;
};

// Those of 1B and 8B are the numbers of elements in the files that Meta published.
TEST(LlamaJobs, ParametersAreThoseOfThePublishedModels) {
  const Llama llamas[] = {{"llama/124m.yaml", 50257, 123'551'232, {.dp = 8}},
                          {"llama/350m.yaml", 50257, 359'794'688, {.dp = 8}},
                          {"llama/1b.yaml", 128256, 1'235'814'400, {.dp = 8}},
                          {"llama/8b.yaml", 128256, 8'030'261'248, {.dp = 8, .tp = 8}}};
  for (const Llama& llama : llamas) {
    const JobConfig job = unprepared_job(llama.job, {fmt::format("parallel.tp={}", llama.layout.tp)});
    const StepPlan plan = plan_step(job, llama.layout);
    EXPECT_EQ(plan.parameters, llama.parameters) << llama.job;
    EXPECT_EQ(plan.parameters, llama_parameters(job.model, llama.vocabulary)) << llama.job;
    EXPECT_EQ(plan.target_tokens, job.batch.tokens) << llama.job;
    EXPECT_LT(static_cast<double>(plan.peak_bytes), 80e9) << llama.job << " does not fit a device of 80 GB";
    // 6 FLOPs a parameter and token, less those of the table that embeds; attention and its recomputation add to them.
    const double products =
        6.0 * static_cast<double>(plan.parameters * plan.target_tokens) / static_cast<double>(llama.layout.ranks());
    EXPECT_GT(plan.flops, 0.9 * products) << llama.job;
    EXPECT_LT(plan.flops, 1.8 * products) << llama.job;
  }
}

TEST(LlamaJobs, HiddenFeaturesFollowFromTheWidthWhereTheyAreNotStated) {
  EXPECT_EQ(unprepared_job("llama/124m.yaml").model.derived_ffn(), 2048);
  EXPECT_EQ(unprepared_job("llama/350m.yaml").model.derived_ffn(), 2816);
}

// The rate of table 3 in Dubey et al. 2024, after 8,000 steps, down to a hundredth of it.
TEST(LlamaJobs, TheScheduleIsThatOfThePaper) {
  const JobConfig job = unprepared_job("llama/8b.yaml");
  const int64_t steps = job.train.max_steps;
  EXPECT_NEAR(static_cast<double>(steps * job.batch.tokens), 15e12, 1e7);
  EXPECT_EQ(learning_rate(job.schedule, 8000, steps), 3e-4);
  EXPECT_LT(learning_rate(job.schedule, 4000, steps), 1.6e-4);
  EXPECT_NEAR(learning_rate(job.schedule, steps, steps), 3e-6, 1e-12);
  EXPECT_EQ(job.model.rotary.base, 500000);
  EXPECT_EQ(job.model.norm_epsilon, 1e-5);
  EXPECT_EQ(job.model.heads / job.model.kv_heads, 4);
}

// Eight key/value heads are divided among at most eight ranks.
TEST(LlamaJobs, KeyHeadsLimitTheShards) {
  const JobConfig job = unprepared_job("llama/8b.yaml");
  for (const MeshLayout& layout : possible_layouts(job, 16)) EXPECT_LE(layout.tp, 8);
}

// Both forms of a job have the parameters that their files state.
TEST(LlamaJobs, TodaysFormsAreAboutAsLargeAsTheOlder) {
  struct Pair {
    const char *job, *older;
    int64_t parameters, before;
  };
  const Pair pairs[] = {
      {"llama/124m.yaml", "gpt/gpt2-124m.yaml", 123'551'232, 124'439'808},
      {"llama/350m.yaml", "gpt/gpt2-355m.yaml", 359'794'688, 354'823'168},
      {"translation/transformer-modern.yaml", "translation/transformer-base.yaml", 63'199'488, 63'082'496},
      {"translation/multi30k-en-de-modern.yaml", "translation/multi30k-en-de-tiny.yaml", 2'643'712, 2'638'080},
  };
  for (const Pair& pair : pairs) {
    const StepPlan plan = plan_step(unprepared_job(pair.job), {}), older = plan_step(unprepared_job(pair.older), {});
    EXPECT_EQ(plan.parameters, pair.parameters) << pair.job;
    EXPECT_EQ(older.parameters, pair.before) << pair.older;
    EXPECT_NEAR(static_cast<double>(plan.parameters) / static_cast<double>(older.parameters), 1, 0.015) << pair.job;
  }
}

}  // namespace
}  // namespace weft
