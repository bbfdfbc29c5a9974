// SPDX-License-Identifier: Apache-2.0
// The contradictions within a job, each as "key: what is wrong; what to change".
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/config/reader.h"
#include "base/config/writer.h"
#include "base/error.h"
#include "job/job.h"
#include "job/renamed_keys.h"
#include "kernels/device/devices.h"

namespace weft {
namespace {

class Problems {
 public:
  template <class... Args>
  void add_if(bool wrong, fmt::format_string<Args...> format, Args&&... args) {
    if (wrong) list_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  // Adds the error that the check() of a section throws for its first finding.
  template <class Check>
  void from(Check&& check) {
    try {
      check();
    } catch (const ConfigError& error) {
      list_.push_back(error.hint().empty() ? error.what() : fmt::format("{}; {}", error.what(), error.hint()));
    }
  }
  void append(std::vector<std::string> more) { std::move(more.begin(), more.end(), std::back_inserter(list_)); }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

// "1, 2, 3, 4, 6, 12": the divisors of a size, at most the 12 nearest to `near`.
std::string divisors_near(int64_t size, int64_t near) {
  std::vector<int64_t> all;
  for (int64_t d = 1; d <= size && d <= (1 << 16); ++d) {
    if (size % d == 0) all.push_back(d);
  }
  std::stable_sort(all.begin(), all.end(),
                   [&](int64_t a, int64_t b) { return std::abs(a - near) < std::abs(b - near); });
  all.resize(std::min<size_t>(all.size(), 12));
  std::sort(all.begin(), all.end());
  return fmt::format("{}", fmt::join(all, ", "));
}

void check_name(const JobConfig& job, Problems& problems) {
  const bool path_like = job.name.find('/') != std::string::npos || job.name == "." || job.name == "..";
  problems.add_if(job.name.empty() || path_like,
                  "name: '{}' is not the name of a folder under runs/; use letters, digits, - and _", job.name);
}

// Reports "built without", and never "unknown": the key is right, but this build does not support it.
void check_device(const JobConfig& job, Problems& problems) {
  problems.add_if(job.device == DeviceChoice::Cuda && !cuda_devices().built,
                  "device: cuda needs CUDA, and this weft is built without it; rebuild it with -DWEFT_CUDA=ON "
                  "(docs/installation.md), or set device to cpu");
  problems.add_if(job.parallel.share_device && job.device == DeviceChoice::Cpu,
                  "parallel.share_device: it applies to CUDA devices only; set it to false, or device to cuda");
}

// Reports keys that no part of the job would read.
void check_products(const JobConfig& job, Problems& problems) {
  const TrainConfig& train = job.train;
  problems.add_if(train.tf32 && train.precision != Precision::Fp32,
                  "train.tf32: it only applies to precision: fp32, and train.precision is {}; change one of them",
                  enum_name(train.precision));
  problems.add_if(train.tf32 && job.device == DeviceChoice::Cpu,
                  "train.tf32: it applies to CUDA devices only; set it to false, or device to cuda");
  problems.add_if(!train.algorithms_file.empty() && train.algorithms == AlgorithmChoice::First,
                  "train.algorithms_file: there is nothing to keep with algorithms: first; set that to measured");
}

void check_graphs(const JobConfig& job, Problems& problems) {
  if (job.train.graphs != GraphChoice::On) return;
  problems.add_if(job.device == DeviceChoice::Cpu,
                  "train.graphs: CUDA graphs need a CUDA device; set it to false, or device to cuda");
  problems.add_if(
      job.data.document_mask,
      "train.graphs: a graph has fixed shapes, and data.document_mask cuts the windows of each step differently; "
      "set one of them to false");
}

// What the bits depend on must be stated by the job, and not follow from the machine or the number of ranks.
void check_numerics(const JobConfig& job, Problems& problems) {
  const bool same_bits = job.numerics == Numerics::SameBits;
  problems.add_if(
      !same_bits && job.batch.leaf_tokens > 0,
      "batch.leaf_tokens: numerics: ordinary has no leaves; set numerics to same_bits, or leaf_tokens to 0");
  if (!same_bits) return;
  problems.add_if(
      job.batch.leaf_tokens == 0,
      "batch.leaf_tokens: numerics: same_bits cuts steps into leaves of so many tokens, and it is 0; set it "
      "to what a rank takes through the model at once, such as {}",
      BatchConfig().micro_batch_tokens);
  problems.add_if(!job.threads,
                  "threads: results of numerics: same_bits depend on the threads of a rank; state how many, such as 1");
  problems.add_if(job.parallel.gradient_dtype != GradientDType::Fp32,
                  "parallel.gradient_dtype: numerics: same_bits sums exactly, which {} does not keep; set it to fp32",
                  enum_name(job.parallel.gradient_dtype));
  problems.add_if(job.device != DeviceChoice::Cpu && job.train.algorithms == AlgorithmChoice::Measured &&
                      job.train.algorithms_file.empty(),
                  "train.algorithms: what is measured differs between starts, and numerics: same_bits depends on it; "
                  "set it to first, state a train.algorithms_file, or set device to cpu");
}

void check_task(const JobConfig& job, Problems& problems) {
  if (job.is_translation()) {
    problems.add_if(!job.data.is_translation(), "data.format: {} has one language; translation needs {}",
                    enum_name(job.data.format), formats_of({DatasetKind::Pairs}));
    problems.add_if(job.model.encoder_layers == 0,
                    "model.encoder_layers: it is 0; translation needs an encoder, set it to 1 or more");
    problems.from([&] { job.batch.check_for_pairs(); });
    problems.add_if(job.target_tokenizer && job.model.tying == Tying::All,
                    "model.tying: all needs one vocabulary for both languages; remove target_tokenizer or use output");
    return;
  }
  problems.add_if(job.data.is_translation(), "data.format: {} has two languages; gpt needs {}",
                  enum_name(job.data.format),
                  formats_of({DatasetKind::Stream, DatasetKind::Answers, DatasetKind::Chats}));
  problems.add_if(job.model.encoder_layers > 0, "model.encoder_layers: gpt has no encoder, but it is {}; set it to 0",
                  job.model.encoder_layers);
  problems.add_if(job.target_tokenizer.has_value(), "target_tokenizer: gpt has one tokenizer; remove it");
  problems.add_if(job.model.tying == Tying::All, "model.tying: gpt has no source to tie; use output");
  problems.from([&] { job.data.is_pairs() ? job.batch.check_for_pairs() : job.batch.check_for_windows(); });
}

void check_lengths(const JobConfig& job, Problems& problems) {
  const int64_t longest = job.model.max_length;
  problems.add_if(
      job.batch.context_length > longest,
      "batch.context_length: {} tokens are more than the {} positions of model.max_length; lower it or raise "
      "model.max_length",
      job.batch.context_length, longest);
  problems.add_if(
      job.data.max_source_tokens > longest,
      "data.max_source_tokens: sequences of {} tokens do not fit the {} positions of model.max_length; lower it or "
      "raise model.max_length",
      job.data.max_source_tokens, longest);
  // A target sequence of n + 1 tokens gives n decoder inputs and n targets.
  problems.add_if(
      job.data.max_target_tokens > longest + 1,
      "data.max_target_tokens: sequences of {} tokens do not fit the {} positions of model.max_length; lower it or "
      "raise model.max_length",
      job.data.max_target_tokens, longest);
}

void check_model(const JobConfig& job, Problems& problems) {
  const TransformerConfig& model = job.model;
  const int64_t tp = job.parallel.tp;
  problems.add_if(model.head_dim == 0 && model.width % model.heads != 0,
                  "model.heads: {} does not divide model.width {}; use one of {}, or set model.head_dim", model.heads,
                  model.width, divisors_near(model.width, model.heads));
  problems.add_if(model.heads % model.derived_kv_heads() != 0,
                  "model.kv_heads: {} does not divide model.heads {}; use one of {}", model.derived_kv_heads(),
                  model.heads, divisors_near(model.heads, model.kv_heads));
  problems.add_if(model.tying != Tying::None && model.derived_embedding_width() != model.width,
                  "model.tying: an embedding of width {} cannot serve as the output of width {}; use tying none, or "
                  "remove model.embedding_width",
                  model.derived_embedding_width(), model.width);
  problems.add_if(
      model.padding_id >= 0 && model.tying != Tying::None,
      "model.padding_id: the row of a table that is also the output is trained; set model.tying to none, or "
      "padding_id to -1");
  const auto windows = static_cast<int64_t>(model.attention_windows.size());
  const int64_t blocks = std::max(model.layers, model.encoder_layers);
  problems.add_if(windows > blocks,
                  "model.attention_windows: it has {} entries for the {} blocks of a stack; remove those that no block "
                  "reads",
                  windows, blocks);
  problems.add_if(model.norm_kind == NormKind::Rms && model.norm_bias,
                  "model.norm_bias: RMSNorm (model.norm_kind: rms) has no bias; set it to false");
  problems.add_if(model.cross_norm == CrossNorm::Memory && model.encoder_layers == 0,
                  "model.cross_norm: a model without an encoder has no cross-attention; set it to query");
  problems.add_if(
      model.cross_norm == CrossNorm::Memory && model.norm_placement != NormPlacement::Pre,
      "model.cross_norm: memory needs norms before branches, and model.norm_placement is {}; change one of them",
      enum_name(model.norm_placement));
  problems.add_if(model.derived_kv_heads() % tp != 0,
                  "parallel.tp: {} does not divide the {} key/value heads; use one of {}", tp, model.derived_kv_heads(),
                  divisors_near(model.derived_kv_heads(), tp));
  problems.add_if(model.derived_ffn() % tp != 0,
                  "parallel.tp: {} does not divide the {} features of ffn; use one of {}", tp, model.derived_ffn(),
                  divisors_near(model.derived_ffn(), tp));
  const bool rotary = model.positions == Positions::Rotary;
  problems.add_if(
      rotary && model.derived_head_dim() % 2 != 0,
      "model.head_dim: rotary positions turn pairs of features, and {} is odd; use an even number, or other "
      "model.positions",
      model.derived_head_dim());
  problems.add_if((rotary || model.derived_qk_norm() != QkNorm::None) && model.derived_head_dim() > kMostHeadColumns,
                  "model.head_dim: rotary positions, model.qk_norm and cosine scores take heads of up to {} features, "
                  "not {}",
                  kMostHeadColumns, model.derived_head_dim());
  problems.add_if(model.rotary.scaling == RotaryScaling::Llama3 &&
                      model.rotary.low_frequency_factor >= model.rotary.high_frequency_factor,
                  "model.rotary.high_frequency_factor: {} is not above low_frequency_factor {}",
                  model.rotary.high_frequency_factor, model.rotary.low_frequency_factor);
  problems.add_if(model.attention_score == AttentionScore::Cosine && model.qk_norm != QkNorm::None,
                  "model.qk_norm: a cosine leaves nothing of the lengths that it norms; set it to none, or "
                  "model.attention_score to scaled");
  problems.add_if(model.activation == Activation::None && !model.gated,
                  "model.activation: none makes the feed-forward layer linear; use relu, gelu, gelu_tanh or silu");
}

void check_run(const JobConfig& job, Problems& problems) {
  const TrainConfig& train = job.train;
  problems.add_if(train.max_steps == 0 && train.max_epochs == 0,
                  "train.max_steps: max_steps and train.max_epochs are both 0, so the run never ends; set one of them");
  problems.append(schedule_problems(job.schedule, train.max_steps));
  problems.append(optimizer_problems(job.optimizer));
  constexpr int64_t kMostTraced = 1000;
  const std::vector<int64_t>& trace = train.trace;
  problems.add_if(!trace.empty() && (trace.size() != 2 || trace[1] < trace[0] || trace[1] - trace[0] >= kMostTraced),
                  "train.trace: it is [{}]; give the first and the last of at most {} steps: [10, 12]",
                  fmt::join(trace, ", "), kMostTraced);
}

void check_divergence(const JobConfig& job, Problems& problems) {
  problems.add_if(job.train.spikes.window == 1,
                  "train.spikes.window: one step has no standard deviation; set it to 2 or more, or to 0 for none");
  const CheckpointConfig& c = job.checkpoint;
  const bool of_the_best = c.keep_best && (job.evaluation.every_steps > 0 || job.evaluation.every_epochs > 0);
  const bool saves = c.every_steps > 0 || c.every_minutes > 0 || c.every_epochs > 0 || of_the_best;
  problems.add_if(job.train.on_divergence == OnDivergence::RollBack && !saves,
                  "train.on_divergence: there is no checkpoint to roll back to; set checkpoint.every_steps, or "
                  "on_divergence to stop");
}

void check_adapters(const JobConfig& job, Problems& problems) {
  problems.add_if(job.lora.active() && job.train.init_from.empty(),
                  "lora.rank: adapters need a trained model to adapt; set train.init_from, or lora.rank: 0");
  problems.add_if(job.lora.active() && job.lora.targets.empty(),
                  "lora.targets: there is nothing to adapt; name products such as attention.qkv, or set lora.rank: 0");
}

void check_evaluation(const JobConfig& job, Problems& problems) {
  const EvaluationConfig& evaluation = job.evaluation;
  const bool evaluates = evaluation.every_steps > 0 || evaluation.every_epochs > 0;
  const bool has_split = !job.data.valid.empty() || job.data.valid_fraction > 0;
  problems.add_if(evaluates && !has_split,
                  "evaluation: there is no validation split; set data.valid or data.valid_fraction, or remove "
                  "evaluation.every_steps and every_epochs");
  problems.add_if(evaluation.patience > 0 && !evaluates,
                  "evaluation.patience: nothing is evaluated; set evaluation.every_steps or every_epochs");
  problems.add_if(evaluation.translates() && !job.is_translation(),
                  "evaluation.metric: {} compares translations, and task is {}; set it to loss",
                  enum_name(evaluation.metric), enum_name(job.task));
  problems.add_if(evaluation.translates() && !evaluates,
                  "evaluation.metric: nothing is evaluated; set evaluation.every_steps or every_epochs");
  problems.add_if(!evaluation.translates() && !config_changes(ValidationTranslation{}, evaluation.translation).empty(),
                  "evaluation.translation: metric: loss translates nothing; set evaluation.metric to a metric of "
                  "translations, or remove it");
  if (evaluation.translates()) problems.from([&] { evaluation.make_metric(); });
  problems.add_if(!evaluation.tasks.empty() && job.is_translation(),
                  "evaluation.tasks: questions are for language models, and task is {}; remove them",
                  enum_name(job.task));
  problems.add_if(!evaluation.tasks.empty() && !evaluates,
                  "evaluation.tasks: nothing is evaluated; set evaluation.every_steps or every_epochs");
  const CheckpointConfig& checkpoint = job.checkpoint;
  problems.add_if(checkpoint.keep_epochs > 0 && checkpoint.every_epochs == 0,
                  "checkpoint.keep_epochs: no checkpoint is made at an epoch's end; set checkpoint.every_epochs");
  const GenerationsConfig& generations = job.log.generations;
  problems.add_if(
      generations.every_steps > 0 && (generations.prompts.empty() || generations.temperatures.empty()),
      "log.generations.every_steps: there is nothing to generate from; set log.generations.prompts and temperatures");
}

void check_allow_changes(const JobConfig& job, Problems& problems) {
  const std::vector<std::string> keys = config_keys<JobConfig>();
  for (const std::string& key : job.allow_changes) {
    const std::string nearest = nearest_name(key, keys);
    const auto now = renamed_key(renamed_job_keys(), key);
    problems.add_if(now.has_value(), "allow_changes: '{}' was renamed: write {}", key, now.value_or(""));
    if (now) continue;
    problems.add_if(std::ranges::find(keys, key) == keys.end(), "allow_changes: '{}' is not a key of a job{}", key,
                    nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
  }
}

void throw_problems(const std::vector<std::string>& problems) {
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n")));
}

}  // namespace

std::vector<std::string> job_problems(const JobConfig& given) {
  const JobConfig job = resolved(given);
  Problems problems;
  check_name(job, problems);
  check_device(job, problems);
  check_products(job, problems);
  check_graphs(job, problems);
  check_numerics(job, problems);
  check_task(job, problems);
  problems.from([&] { job.data.check(); });
  problems.from([&] { job.tokenizer.check(); });
  if (job.target_tokenizer) problems.from([&] { job.target_tokenizer->check(); });
  check_model(job, problems);
  check_lengths(job, problems);
  check_run(job, problems);
  check_divergence(job, problems);
  check_adapters(job, problems);
  check_evaluation(job, problems);
  check_allow_changes(job, problems);
  return problems.take();
}

void check_job(const JobConfig& job) { throw_problems(job_problems(job)); }

std::vector<std::string> shape_problems(const JobConfig& given) {
  const JobConfig job = resolved(given);
  Problems problems;
  check_device(job, problems);
  check_products(job, problems);
  check_graphs(job, problems);
  check_numerics(job, problems);
  check_task(job, problems);
  check_model(job, problems);
  check_lengths(job, problems);
  return problems.take();
}

void check_shapes(const JobConfig& job) { throw_problems(shape_problems(job)); }

}  // namespace weft
