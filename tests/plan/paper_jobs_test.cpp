// SPDX-License-Identifier: Apache-2.0
// The jobs at the sizes of papers: their parameters counted by hand, their settings, and what weft plan says of them.
#include <gtest/gtest.h>

#include <cmath>

#include "plan/step_plan.h"
#include "tests/plan/unprepared_job.h"

namespace weft {
namespace {

using test::unprepared_job;

// With width w and hidden features f, attention has four matrices w x w and their biases, the feed-forward layer two
// matrices w x f and biases f and w, a norm two vectors w. A block of the encoder has one attention and two norms, one
// of the decoder two and three. One table embeds both languages and predicts; sinusoids and post-LN ends add nothing.
int64_t transformer_parameters(const TransformerConfig& model, int64_t vocabulary) {
  const int64_t w = model.width, f = model.ffn;
  const int64_t attention = 4 * (w * w + w), feed_forward = 2 * w * f + f + w, norm = 2 * w;
  return model.encoder_layers * (attention + feed_forward + 2 * norm) +
         model.layers * (2 * attention + feed_forward + 3 * norm) + vocabulary * w;
}

struct Paper {
  const char* job;
  int64_t parameters;  // by the formula above, worked out by hand
  double published;
  double tolerance;
};

// Table 3 of Vaswani et al. 2017 has 65 and 213 million: the first with a vocabulary that the paper states as "about
// 37000".
TEST(PaperJobs, TransformersHaveTheParametersOfTheirTable) {
  const Paper papers[] = {{"transformer-base", 63'082'496, 65e6, 0.03}, {"transformer-big", 214'245'376, 213e6, 0.01}};
  for (const Paper& paper : papers) {
    const JobConfig job = unprepared_job(fmt::format("translation/{}.yaml", paper.job));
    const StepPlan plan = plan_step(job, {.dp = 8});
    EXPECT_EQ(plan.parameters, paper.parameters) << paper.job;
    EXPECT_EQ(plan.parameters, transformer_parameters(job.model, 37000)) << paper.job;
    EXPECT_NEAR(static_cast<double>(plan.parameters), paper.published, paper.tolerance * paper.published) << paper.job;
    EXPECT_GT(plan.target_tokens, 0.85 * 25000) << paper.job;
    EXPECT_LE(plan.target_tokens, 25000) << paper.job;
  }
}

// lrate = width^-0.5 min(step^-0.5, step warmup^-1.5), equation 3.
TEST(PaperJobs, TransformersHaveTheScheduleAndOptimizerOfThePaper) {
  for (const auto& [name, steps] : {std::pair("transformer-base", 100'000), std::pair("transformer-big", 300'000)}) {
    const JobConfig job = unprepared_job(fmt::format("translation/{}.yaml", name));
    EXPECT_EQ(job.train.max_steps, steps);
    for (const double step : {1000.0, 4000.0, 50'000.0, 100'000.0}) {
      const double rate = std::pow(job.model.width, -0.5) * std::min(std::pow(step, -0.5), step * std::pow(4000, -1.5));
      const double got = learning_rate(job.schedule, static_cast<int64_t>(step), job.train.max_steps);
      EXPECT_NEAR(got, rate, 0.002 * rate) << name << " at step " << step;
    }
    EXPECT_EQ(job.optimizer.kind, OptimizerKind::Adam);
    EXPECT_EQ(job.optimizer.beta1, 0.9);
    EXPECT_EQ(job.optimizer.beta2, 0.98);
    EXPECT_EQ(job.optimizer.epsilon, 1e-9);
    EXPECT_EQ(job.train.label_smoothing, 0.1);
    EXPECT_EQ(job.model.norm_placement, NormPlacement::Post);
    EXPECT_EQ(job.model.width / job.model.heads, 64);
    EXPECT_EQ(job.model.ffn, 4 * job.model.width);
  }
}

// More pairs bear a larger model and vocabulary, and need less dropout.
TEST(PaperJobs, TransformersGrowWithTheCorpus) {
  const std::pair<const char*, int64_t> jobs[] = {
      {"pairs-10k", 1'581'056}, {"pairs-100k", 36'663'296}, {"pairs-1m", 52'330'496}, {"pairs-10m", 209'125'376}};
  StepPlan before;
  JobConfig smaller;
  smaller.model.dropout.residual = 1;
  for (const auto& [name, parameters] : jobs) {
    const JobConfig job = unprepared_job(fmt::format("translation/{}.yaml", name));
    const StepPlan plan = plan_step(job, {.dp = 8});
    EXPECT_EQ(plan.parameters, parameters) << name;
    EXPECT_EQ(plan.parameters, transformer_parameters(job.model, job.tokenizer.vocabulary)) << name;
    EXPECT_GT(plan.parameters, before.parameters) << name;
    EXPECT_GT(job.tokenizer.vocabulary, smaller.tokenizer.vocabulary) << name;
    EXPECT_LE(job.model.dropout.residual, smaller.model.dropout.residual) << name;
    before = plan, smaller = job;
  }
}

// Radford et al. 2019 give 124, 355, 774 and 1558 million, as counted since its repository was corrected.
TEST(PaperJobs, Gpt2HasItsFourSizes) {
  const std::pair<const char*, int64_t> sizes[] = {
      {"124m", 124'439'808}, {"355m", 354'823'168}, {"774m", 774'030'080}, {"1558m", 1'557'611'200}};
  for (const auto& [size, parameters] : sizes) {
    const JobConfig job = unprepared_job(fmt::format("gpt/gpt2-{}.yaml", size));
    const StepPlan plan = plan_step(job, {.dp = 8});
    EXPECT_EQ(plan.parameters, parameters) << size;
    EXPECT_EQ(plan.target_tokens, job.batch.tokens) << size;
    EXPECT_EQ(job.model.width / job.model.heads, 64) << size;
  }
}

// The rate stays at its top until the last fifth of the run, and ends at zero.
TEST(PaperJobs, Gpt2CoolsDownOverTheLastFifth) {
  for (const char* size : {"124m", "355m", "774m", "1558m"}) {
    const JobConfig job = unprepared_job(fmt::format("gpt/gpt2-{}.yaml", size));
    const int64_t steps = job.train.max_steps;
    const auto rate = [&job, steps](int64_t step) { return learning_rate(job.schedule, step, steps); };
    EXPECT_EQ(job.schedule.kind, ScheduleKind::WarmupStableDecay) << size;
    EXPECT_EQ(rate(700), job.schedule.learning_rate) << size;
    EXPECT_EQ(rate(steps * 79 / 100), job.schedule.learning_rate) << size;
    EXPECT_NEAR(rate(steps * 9 / 10), job.schedule.learning_rate / 2, 0.01 * job.schedule.learning_rate) << size;
    EXPECT_NEAR(rate(steps), 0, 1e-12) << size;
  }
}

}  // namespace
}  // namespace weft
