// SPDX-License-Identifier: Apache-2.0
#include "job/named_jobs.h"

#include <algorithm>

#include "base/error.h"

namespace weft {
namespace {

// Radford et al. 2019: 12 to 48 blocks, heads of 64 features, contexts of 1,024.
BenchJob gpt2(const char* size, int64_t layers, int64_t width, int64_t heads) {
  BenchJob out{.name = fmt::format("gpt2-{}", size),
               .meaning = fmt::format("GPT-2, {} blocks of width {}, 4 windows of 1,024 tokens a step", layers, width),
               .vocabulary = 50257};
  out.job.model = {.layers = layers, .width = width, .heads = heads, .max_length = 1024};
  out.job.batch = {.sequences = 4, .context_length = 1024, .micro_batch_tokens = 4096};
  out.job.train.clip_norm = 1;
  return out;
}

// The model of configs/llama/SIZE.yaml (a test compares them): Llama's blocks, in the steps of gpt2() above.
BenchJob llama(const char* size, int64_t layers, int64_t width, int64_t heads) {
  BenchJob out = gpt2(size, layers, width, heads);
  out.name = fmt::format("llama-{}", size);
  out.meaning = fmt::format("Llama's blocks, {} of width {}, 4 windows of 1,024 tokens a step", layers, width);
  TransformerConfig& model = out.job.model;
  model.norm_kind = NormKind::Rms, model.norm_bias = model.bias = false;
  model.positions = Positions::Rotary, model.rotary.base = 500000;
  model.activation = Activation::Silu, model.gated = true;
  return out;
}

// nanoGPT's character model for CPUs: 12 windows of 64 characters a step.
BenchJob characters() {
  BenchJob out{.name = "char",
               .meaning = "nanoGPT's character model for CPUs: 4 blocks of width 128, 12 windows of 64",
               .vocabulary = 65};
  out.job.model = {.layers = 4,
                   .width = 128,
                   .heads = 4,
                   .max_length = 64,
                   .activation = Activation::Gelu,
                   .bias = false,
                   .norm_bias = false};
  out.job.batch = {.sequences = 12, .context_length = 64};
  out.job.train.clip_norm = 1;
  return out;
}

// The settings that the translation models share: Vaswani et al. 2017, with one vocabulary for both languages.
BenchJob translation(std::string name, std::string meaning, int64_t vocabulary) {
  BenchJob out{.name = std::move(name), .meaning = std::move(meaning), .vocabulary = vocabulary};
  out.job.task = Task::Translation;
  out.job.data.format = TextFormat::Parallel;
  out.job.model = {.norm_placement = NormPlacement::Post,
                   .final_norm = false,
                   .positions = Positions::Sinusoidal,
                   .sinusoid_form = SinusoidForm::Halves,
                   .activation = Activation::Relu,
                   .tying = Tying::All,
                   .scale_embedding = true,
                   .init = InitScheme::Xavier};
  out.job.batch.order = BatchOrder::Bucketed;
  out.job.optimizer.kind = OptimizerKind::Adam;
  out.job.train.label_smoothing = 0.1;
  return out;
}

// The model of configs/translation/multi30k-en-de-tiny.yaml (a test compares them), in batches of one group.
BenchJob transformer_tiny() {
  BenchJob out = translation("transformer-tiny",
                             "Transformer-Tiny: 4 + 4 blocks of width 128, batches of 4,096 padded tokens", 9712);
  TransformerConfig& model = out.job.model;
  model.layers = model.encoder_layers = 4;
  model.width = 128, model.heads = 4, model.ffn = 256;
  model.dropout = {.embedding = 0.3, .residual = 0.3};
  out.job.batch.tokens = 4096, out.job.batch.token_count = TokenCount::Padded;
  return out;
}

// Transformer-Base: 25,000 source tokens and as many target tokens a step, one vocabulary of 37,000.
BenchJob transformer_base() {
  BenchJob out = translation("transformer-base",
                             "Transformer-Base: 6 + 6 blocks of width 512, batches of 25,000 target tokens", 37000);
  TransformerConfig& model = out.job.model;
  model.layers = model.encoder_layers = 6;
  model.width = 512, model.heads = 8, model.ffn = 2048, model.max_length = 512;
  model.dropout = {.embedding = 0.1, .residual = 0.1};
  out.job.data.max_source_tokens = out.job.data.max_target_tokens = 64;
  out.job.batch.tokens = 25000;
  return out;
}

std::vector<BenchJob> make_jobs() {
  std::vector<BenchJob> jobs = {gpt2("124m", 12, 768, 12),
                                gpt2("350m", 24, 1024, 16),
                                gpt2("774m", 36, 1280, 20),
                                gpt2("1558m", 48, 1600, 25),
                                llama("124m", 12, 768, 12),
                                llama("350m", 24, 1024, 16),
                                characters(),
                                transformer_tiny(),
                                transformer_base()};
  for (BenchJob& bench : jobs) bench.job.name = bench.name;
  return jobs;
}

}  // namespace

const std::vector<BenchJob>& bench_jobs() {
  static const std::vector<BenchJob> jobs = make_jobs();
  return jobs;
}

std::string describe_bench_jobs() {
  std::string text;
  for (const BenchJob& job : bench_jobs()) text += fmt::format("  {:<18}{}\n", job.name, job.meaning);
  return text;
}

const BenchJob& find_bench_job(const std::string& name) {
  const auto& jobs = bench_jobs();
  const auto at = std::ranges::find(jobs, name, &BenchJob::name);
  if (at != jobs.end()) return *at;
  std::string known;
  for (const BenchJob& job : jobs) known += (known.empty() ? "" : ", ") + job.name;
  throw ConfigError(fmt::format("--model {}: no such model", name), "use one of " + known);
}

JobConfig job_or_model(const std::string& path, const std::string& model, const std::vector<std::string>& overrides) {
  if (path.empty() == model.empty()) throw ConfigError("it takes one job file or one --model NAME");
  if (!path.empty()) return load_job(path, overrides);
  const BenchJob& named = find_bench_job(model);
  JobConfig job = named.job;
  job.tokenizer.vocabulary = named.vocabulary;
  job = job_with(job, overrides);
  check_shapes(job);
  return job;
}

}  // namespace weft
