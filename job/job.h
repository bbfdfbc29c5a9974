// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/batches/batch_config.h"
#include "data/prepare/text_job.h"
#include "job/optimizer_config.h"
#include "job/schedule.h"
#include "job/sections.h"
#include "model/config.h"
#include "model/layers/lora_config.h"
#include "parallel/watch/watchdog.h"

namespace weft {

// Everything that a job file may set (docs/configuration.md). The same struct is stored in checkpoints as YAML.
struct JobConfig {
  std::string name = "job";
  Task task = Task::Gpt;
  int64_t seed = 1;
  DeviceChoice device = DeviceChoice::Auto;
  std::optional<CpuLevel> cpu_level;
  std::optional<int64_t> threads;
  Numerics numerics = Numerics::Ordinary;
  std::string run_dir;
  DataConfig data;
  TokenizerConfig tokenizer;
  std::optional<TokenizerConfig> target_tokenizer;
  TransformerConfig model;
  LoraConfig lora;
  BatchConfig batch;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  TrainConfig train;
  EvaluationConfig evaluation;
  CheckpointConfig checkpoint;
  ParallelConfig parallel;
  PhaseBudgets timeouts;
  LogConfig log;
  std::vector<std::string> allow_changes;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("name", name, "Name of the job in logs and metrics.", Affects::Nothing);
    v.field("task", task, "gpt: predict the next token of a text; translation: a target text from a source text.");
    v.field("seed", seed, "Seed of initial weights, data order and dropout.", Range{.min = 0});
    v.field("device", device,
            "Where the job runs: cpu, cuda, or auto: one CUDA device per rank if available, else the CPU.",
            Affects::Nothing);
    v.field("cpu_level", cpu_level,
            "The instruction sets to compute with on the CPU; null means the highest that the processors of all ranks "
            "have. Levels differ by rounding (docs/determinism.md).",
            Affects::Nothing);
    v.field("threads", threads,
            "Threads of each rank; null means OMP_NUM_THREADS, or an equal share of the processors. Sums of another "
            "number of threads differ by rounding.",
            {Range{.min = 1, .max = 4096}, Affects::Nothing});
    v.field(
        "numerics", numerics,
        "ordinary: sums are grouped as the ranks share the work, and layouts differ by rounding; same_bits: losses, "
        "norms and weights are the same bits on any number of replicas (docs/determinism.md); it needs threads and "
        "batch.leaf_tokens.");
    v.field("run_dir", run_dir, "Where checkpoints and metrics go; empty means runs/NAME.", Affects::Nothing);
    v.field("data", data, "Which text, and how it becomes a dataset.");
    v.field("tokenizer", tokenizer, "The tokenizer, of both languages unless target_tokenizer is given.",
            Affects::Nothing);
    v.field("target_tokenizer", target_tokenizer,
            "A separate tokenizer of the target language; null means that tokenizer serves both.", Affects::Nothing);
    v.field("model", model, "Shapes and options of the transformer.");
    v.field("lora", lora, "Low-rank adapters, trained while the weights that they adapt stay frozen.");
    v.field("batch", batch, "What one optimizer step takes.");
    v.field("optimizer", optimizer, "How gradients change the weights.");
    v.field("schedule", schedule, "The learning rate over the run.");
    v.field("train", train, "Length and numerics of the run.");
    v.field("evaluation", evaluation, "Validation during the run.");
    v.field("checkpoint", checkpoint, "When the run is saved, and what is kept.", Affects::Nothing);
    v.field("parallel", parallel, "How ranks share the work.", Affects::Nothing);
    v.field("timeouts", timeouts, "How long a run may make no progress before it is ended as hung.", Affects::Nothing);
    v.field("log", log, "What is logged, and how often.", Affects::Nothing);
    v.field("allow_changes", allow_changes,
            "Keys (or sections) whose values may differ from those of the checkpoint that a run resumes from, although "
            "they change training.",
            Affects::Nothing);
  }

  fs::path run_directory() const { return run_dir.empty() ? fs::path("runs") / name : fs::path(run_dir); }
  bool is_translation() const { return task == Task::Translation; }
  // Whether steps have shapes that occur again, as CUDA graphs need them. Those of pairs have, once they are padded.
  bool repeats_shapes() const { return !data.document_mask; }
  TextJob text() const { return {.data = data, .tokenizer = tokenizer, .target_tokenizer = target_tokenizer}; }
};

// The job with the keys filled in that default to other keys: batch.context_length of a language model. All other rooms
// take resolved jobs, as load_job() and parse_stored_job() return them.
JobConfig resolved(JobConfig job);

// Loads a job file with the files it extends, the overrides "a.b=value", and what it takes over from the checkpoint
// that it begins from (job/initial_model.h); resolved, then checked as by check_job(). ConfigError listing everything
// that cannot be read, or else everything that does not fit together, each with its place in the file; DataError if
// that checkpoint cannot be read.
JobConfig load_job(const std::string& path, const std::vector<std::string>& overrides = {});

// For messages: the place at which the job file or an override sets a key, or the innermost section around it that is
// set: "job.yaml:3:5: "; "" if neither is set.
std::string place_of_key(std::string_view key, const std::string& path, const std::vector<std::string>& overrides);

// Loads a job for preparing text: the other sections are read, not checked, and may be missing.
JobConfig load_job_of_text(const std::string& path, const std::vector<std::string>& overrides = {});

// `defaults` changed by the overrides "a.b=value", resolved and not checked: for jobs that no file holds.
JobConfig job_with(JobConfig defaults, const std::vector<std::string>& overrides);

// Checks across fields that need no data, no device and no other rank. ConfigError listing every contradiction as
// "model.heads: what is wrong; what to change".
void check_job(const JobConfig& job);
// Checks a job that has no data, tokenizer or end: task, model and batches alone.
void check_shapes(const JobConfig& job);
std::vector<std::string> job_problems(const JobConfig& job);
std::vector<std::string> shape_problems(const JobConfig& job);

}  // namespace weft
