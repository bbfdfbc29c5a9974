// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/fields.h"
#include "job/validation_metric.h"
#include "kernels/device/devices.h"
#include "kernels/device/products.h"
#include "model/config.h"
#include "parallel/device_places.h"
#include "parallel/parameters/bucket_size.h"
#include "parallel/parameters/parameter.h"

// The sections of a job that the trainer itself reads; job/job.h puts all sections together.
namespace weft {

enum class Task : uint8_t { Gpt, Translation };
template <>
struct EnumNames<Task> {
  static constexpr auto kNames = enum_names<Task>("gpt", "translation");
};

// What the bits of a run depend on (docs/determinism.md): on its layout too, or not on the number of replicas.
enum class Numerics : uint8_t { Ordinary, SameBits };
template <>
struct EnumNames<Numerics> {
  static constexpr auto kNames = enum_names<Numerics>("ordinary", "same_bits");
};

// Fp64 is for tests and has no name, so no job can set it.
template <>
struct EnumNames<Precision> {
  static constexpr auto kNames =
      std::to_array<std::pair<std::string_view, Precision>>({{"fp32", Precision::Fp32}, {"bf16", Precision::Bf16}});
};

// Whether steps are launched as CUDA graphs. Auto: on a CUDA device, if the steps have shapes that occur again.
enum class GraphChoice : uint8_t { Auto, On, Off };
template <>
struct EnumNames<GraphChoice> {
  static constexpr auto kNames = enum_names<GraphChoice>("auto", "true", "false");
};

// What a run does after too many steps in a row that were not finite.
enum class OnDivergence : uint8_t { Stop, RollBack };
template <>
struct EnumNames<OnDivergence> {
  static constexpr auto kNames = enum_names<OnDivergence>("stop", "roll_back");
};

// Which value of a step is compared with its values in the steps before.
enum class SpikeOf : uint8_t { Loss, Norm, Either };
template <>
struct EnumNames<SpikeOf> {
  static constexpr auto kNames = enum_names<SpikeOf>("loss", "norm", "either");
};

struct SpikesConfig {
  int64_t window = 0;
  double bound = 6;
  SpikeOf of = SpikeOf::Loss;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("window", window, "Steps before a step, skipped ones left out, that it is compared with; 0 means none.",
            Range{.min = 0, .max = 10000});
    v.field("bound", bound,
            "Standard deviations of the window by which a step must be above the window's mean to be a spike.",
            Range{.min = 0.1, .max = 1e6});
    v.field("of", of, "What is compared: the loss, the norm of the gradient before clipping, or either.");
  }
};

struct TrainConfig {
  int64_t max_steps = 0;
  int64_t max_epochs = 0;
  std::optional<Duration> max_time;
  int64_t max_restarts = 0;
  double clip_norm = 0;
  double label_smoothing = 0;
  double z_loss = 0;
  Precision precision = Precision::Fp32;
  bool tf32 = false;
  AlgorithmChoice algorithms = AlgorithmChoice::Measured;
  std::string algorithms_file;
  AttentionChoice attention = AttentionChoice::Auto;
  GraphChoice graphs = GraphChoice::Auto;
  int64_t output_chunk_mib = 0;
  Recompute recompute = Recompute::None;
  SpikesConfig spikes;
  int64_t max_nonfinite_steps = 10;
  int64_t verify_every = 1000;
  OnDivergence on_divergence = OnDivergence::Stop;
  int64_t max_rollbacks = 3;
  std::string init_from;
  std::vector<std::string> freeze;
  bool report = false;
  std::vector<int64_t> trace;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("max_steps", max_steps, "Optimizer steps of the run; 0 means no limit: max_epochs ends the run.",
            Range{.min = 0, .max = 1e15});
    v.field("max_epochs", max_epochs,
            "Rounds over the training split; 0 means no limit. The run ends at the first limit that it reaches.",
            Range{.min = 0, .max = 1e9});
    v.field("max_time", max_time,
            "Time limit of one start of the run: it saves in time and exits with code 75. null means no limit.",
            Affects::Nothing);
    v.field("max_restarts", max_restarts,
            "Restarts in a row that may begin at the same step, because the start before them reached no later "
            "checkpoint; one more exits with code 7. 0 means no limit.",
            {Range{.min = 0, .max = 1e9}, Affects::Nothing});
    v.field("clip_norm", clip_norm, "Gradients are scaled down to this global norm; 0 means never.",
            Range{.min = 0, .max = 1e9});
    v.field("label_smoothing", label_smoothing,
            "Share of each target's probability that is spread evenly over the vocabulary.",
            Range{.min = 0, .max = 0.999});
    v.field(
        "z_loss", z_loss,
        "Weight of (log Z)^2 in the training loss of each target, Z being the sum of the exponentials of its logits: "
        "it keeps log Z near 0 (PaLM has 1e-4). 0 means none; evaluations leave it out.",
        Range{.min = 0, .max = 1e9});
    v.field("precision", precision,
            "fp32, or bf16: then activations, the residual stream and the weights that the model computes with "
            "(embeddings, "
            "norms and biases too) are bf16; master weights, moments, summed gradients and the loss are fp32.");
    v.field("tf32", tf32,
            "On CUDA devices, in fp32: round the inputs of matrix products to TF32 (10 bits of mantissa), which tensor "
            "cores multiply several times as fast. Sums stay fp32.");
    v.field("algorithms", algorithms,
            "Which cuBLASLt algorithm a matrix product on a CUDA device takes: measured, the fastest of several, timed "
            "once per shape, kept and stored in checkpoints; or first, the first one that cuBLASLt suggests.",
            Affects::Nothing);
    v.field("algorithms_file", algorithms_file,
            "File in which measured algorithms are kept for later runs; empty means algorithms.json in the run "
            "directory. Runs that share the file compute bit-identical results.",
            Affects::Nothing);
    v.field(
        "attention", attention,
        "What computes attention on CUDA devices: own, weft's kernels; cudnn: cuDNN in bf16 where sequences have one "
        "length and no dropout, otherwise own; auto: the faster as measured, cudnn on devices from sm_90 on if the "
        "library is there, own on older ones (docs/determinism.md).",
        Affects::Nothing);
    v.field(
        "graphs", graphs,
        "On CUDA devices, forward and backward of a step, and the update, are captured into CUDA graphs and launched "
        "by one call each: true, false, or auto, wherever they can be. Same results (docs/determinism.md).",
        Affects::Nothing);
    v.field(
        "output_chunk_mib", output_chunk_mib,
        "MiB of the output layer's logits that are in memory at once, which also decides the order of sums; 0 means "
        "up to 128 on CPUs and 1,024 on CUDA devices.",
        {Range{.min = 0, .max = 1 << 20}, Affects::Nothing});
    v.field("recompute", recompute,
            "What backward recomputes instead of keeping it, to save memory with the same results: nothing, the inside "
            "of attention, or whole blocks.",
            Affects::Nothing);
    v.field("spikes", spikes, "Steps whose loss or gradient jumps are skipped, as those that are not finite.");
    v.field("max_nonfinite_steps", max_nonfinite_steps,
            "Steps in a row whose loss or gradient is not finite, or a spike, that are skipped before the run has "
            "diverged.",
            {Range{.min = 0, .max = 1e9}, Affects::Nothing});
    v.field(
        "verify_every", verify_every,
        "Steps from one look for bits that change without an error to the next: ranks compute part of a step again for "
        "each other, and compare weights and moments with what they were (docs/operation.md). 0 means never.",
        {Range{.min = 0, .max = 1e9}, Affects::Nothing});
    v.field("on_divergence", on_divergence,
            "When the run has diverged: stop exits with code 4; roll_back resumes from the last checkpoint before the "
            "skipped steps, with the data that follows them.",
            Affects::Nothing);
    v.field("max_rollbacks", max_rollbacks, "Number of rollbacks after which a divergence ends the run.",
            {Range{.min = 1, .max = 1e6}, Affects::Nothing});
    v.field("init_from", init_from,
            "A checkpoint, a run (its latest checkpoint) or an imported model whose weights the run begins with; it "
            "also determines task, model and tokenizer. Empty means random initial weights.",
            Affects::Nothing);
    v.field("freeze", freeze,
            "Patterns of parameter names (weft inspect lists them); parameters that match one are not trained. * is "
            "any text, ? one character, [0-5] one of a range.");
    v.field("report", report,
            "Write report.html to the run directory at each evaluation and at the end: the page of `weft report`.",
            Affects::Nothing);
    v.field("trace", trace,
            "[first, last]: what every rank does during these steps, counted from 1, is written to "
            "trace-FIRST-LAST.json in the run directory (docs/report.md), where Perfetto shows it. Empty: no steps.",
            {Range{.min = 1, .max = 1e15}, Affects::Nothing});
  }

  ProductOptions products() const { return {.algorithms = algorithms, .tf32 = tf32}; }
};

// Settings for translating the validation split during training.
struct ValidationTranslation {
  int64_t max_pairs = 1000;
  int64_t beam = 1;
  std::vector<std::string> settings;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("max_pairs", max_pairs,
            "Pairs that are translated, from the beginning of the validation split, and no more than max_sequences; 0 "
            "means all.",
            Range{.min = 0, .max = 1e12});
    v.field("beam", beam, "Hypotheses that the search keeps alive; 1 is greedy search.", Range{.min = 1, .max = 1e4});
    v.field("settings", settings,
            "Fields of the metric, as weft score --help lists them: [tokenizer=zh, lowercase=true] for bleu.");
  }
};

struct EvaluationConfig {
  int64_t every_steps = 0;
  int64_t every_epochs = 0;
  int64_t max_sequences = 0;
  int64_t patience = 0;
  ValidationMetric metric = ValidationMetric::Loss;
  ValidationTranslation translation;
  std::vector<std::string> tasks;
  int64_t max_questions = 0;

  bool translates() const { return metric != ValidationMetric::Loss; }
  // The metric of translations, with the settings above. ConfigError if a setting does not fit.
  std::shared_ptr<const Metric> make_metric() const {
    return translation_metric(metric)->make("evaluation.translation.settings:", translation.settings);
  }

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("every_steps", every_steps, "Optimizer steps between evaluations on the validation split; 0 means never.",
            {Range{.min = 0, .max = 1e15}, Affects::Nothing});
    v.field("every_epochs", every_epochs, "Epochs between evaluations at the end of an epoch; 0 means never.",
            {Range{.min = 0, .max = 1e9}, Affects::Nothing});
    v.field("max_sequences", max_sequences,
            "Windows or pairs that an evaluation takes, from the beginning of the split; 0 means all.",
            {Range{.min = 0, .max = 1e12}, Affects::Evaluation});
    v.field("patience", patience,
            "Evaluations in a row without a new best (metric) after which the run ends; 0 means never.",
            {Range{.min = 0, .max = 1e9}, Affects::Nothing});
    v.field("metric", metric,
            "What decides which evaluation is the best: the loss, or a metric of translations of the validation split, "
            "which each evaluation then makes.",
            Affects::Evaluation);
    v.field("translation", translation, "For a metric of translations: what is translated, and how it is scored.",
            Affects::Evaluation);
    v.field("tasks", tasks,
            "Files of questions that each evaluation of a language model answers, as weft choose does: HellaSwag, ARC, "
            "PIQA, LAMBADA. Their accuracies are logged, and decide nothing.",
            Affects::Nothing);
    v.field("max_questions", max_questions,
            "Questions that an evaluation takes, from the beginning of each of the tasks; 0 means all.",
            {Range{.min = 0, .max = 1e12}, Affects::Nothing});
  }
};

enum class OnFailure : uint8_t { Stop, Continue };
template <>
struct EnumNames<OnFailure> {
  static constexpr auto kNames = enum_names<OnFailure>("stop", "continue");
};

struct CheckpointConfig {
  int64_t every_steps = 0;
  double every_minutes = 0;
  int64_t every_epochs = 0;
  int64_t keep_last = 2;
  int64_t keep_epochs = 0;
  bool keep_best = true;
  std::vector<int64_t> keep_steps;
  OnFailure on_failure = OnFailure::Stop;
  double lock_wait_seconds = 180;  // a node that is gone keeps its lock for a lease of NFSv4, 90 s

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("every_steps", every_steps, "Optimizer steps between checkpoints; 0 means not by steps.",
            Range{.min = 0, .max = 1e15});
    v.field("every_minutes", every_minutes, "Minutes between checkpoints; 0 means not by time.",
            Range{.min = 0, .max = 1e6});
    v.field("every_epochs", every_epochs, "Epochs between checkpoints at the end of an epoch; 0 means not by epochs.",
            Range{.min = 0, .max = 1e9});
    v.field("keep_last", keep_last, "Number of latest checkpoints that are kept, at least one.",
            Range{.min = 1, .max = 1e6});
    v.field("keep_epochs", keep_epochs,
            "Number of latest checkpoints from the end of an epoch that are kept as well, for `weft average`.",
            Range{.min = 0, .max = 1e6});
    v.field("keep_best", keep_best, "Keep the checkpoint of the best evaluation (evaluation.metric).");
    v.field("keep_steps", keep_steps, "Steps whose checkpoints are never deleted.", Range{.min = 0, .max = 1e15});
    v.field("on_failure", on_failure,
            "When a save fails (no space, a broken disk): stop ends the run; continue logs a warning and tries again "
            "at the next save. The last save must succeed either way.");
    v.field("lock_wait_seconds", lock_wait_seconds,
            "Seconds that a run waits while another one owns its run directory; 0 means not at all.",
            Range{.min = 0, .max = 1e6});
  }
};

template <>
struct EnumNames<ZeroStage> {
  static constexpr auto kNames = enum_names<ZeroStage>("0", "1", "2");
};

template <>
struct EnumNames<GradientDType> {
  static constexpr auto kNames = enum_names<GradientDType>("fp32", "bf16");
};

struct ParallelConfig {
  int64_t tp = 1;
  bool sequence_parallel = false;
  ZeroStage zero_stage = ZeroStage::Whole;
  double gradient_bucket_mib = 0;
  GradientDType gradient_dtype = GradientDType::Fp32;
  bool share_device = false;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("tp", tp, "Ranks per replica of the model (tensor parallelism); replicas divide the data.",
            Range{.min = 1, .max = 1 << 16});
    v.field("sequence_parallel", sequence_parallel,
            "Divide the rows of norms, residual sums and their dropout over the tp ranks too.");
    v.field("zero_stage", zero_stage,
            "What the data-parallel replicas divide (ZeRO): 0 nothing, 1 master weights and moments, 2 gradients too.");
    v.field("gradient_bucket_mib", gradient_bucket_mib,
            "MiB of gradients that are reduced over the replicas at once, while backward still runs; 0 means 8 on a "
            "CPU, and on CUDA devices half as many as there are replicas, from 25 to 256.",
            Range{.min = 0, .max = 65536});
    v.field("gradient_dtype", gradient_dtype,
            "How gradients travel between replicas: in fp32, or rounded to bf16, which sends half the bytes; they are "
            "added in fp32 (docs/layouts.md).",
            Affects::Training);
    v.field("share_device", share_device,
            "Let several ranks compute on one CUDA device, to try a layout on fewer devices; it is never faster.");
  }

  SharedDevices shared_devices() const { return share_device ? SharedDevices::Allowed : SharedDevices::Refused; }
  // The layout of one replica.
  MeshLayout replica() const { return {.tp = static_cast<int>(tp)}; }
  void set_replica(const MeshLayout& layout) { tp = layout.tp; }
  // The ZeRO stage and bucket size for `replicas` replicas that compute on devices of this kind.
  Sharding sharding(const Device& device, int replicas) const {
    const auto stated = static_cast<int64_t>(gradient_bucket_mib * (1 << 20));
    return {.zero = zero_stage,
            .gradients = gradient_dtype,
            .bucket_bytes = stated > 0 ? stated : gradient_bucket_bytes(device, replicas)};
  }
};

// Settings for the text that is printed during training.
struct GenerationsConfig {
  int64_t every_steps = 0;
  std::vector<std::string> prompts;
  std::vector<double> temperatures = {0.0, 0.7, 1.0};
  int64_t max_tokens = 60;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("every_steps", every_steps, "Optimizer steps between generations; 0 means none.",
            Range{.min = 0, .max = 1e15});
    v.field("prompts", prompts, "Prompts to continue (gpt), or sentences to translate (translation).");
    v.field("temperatures", temperatures, "Each prompt is continued once at each; 0 takes the likeliest token.",
            Range{.min = 0, .max = 100});
    v.field("max_tokens", max_tokens, "Maximum number of tokens per generation.", Range{.min = 1, .max = 1 << 20});
  }
};

struct LogConfig {
  int64_t every_steps = 10;
  bool tensorboard = false;
  GenerationsConfig generations;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("every_steps", every_steps, "Optimizer steps between lines of metrics.jsonl and of the console.",
            Range{.min = 1, .max = 1e15});
    v.field("tensorboard", tensorboard,
            "Write the events of metrics.jsonl to tensorboard/ in the run directory too, in TensorBoard's form.");
    v.field("generations", generations, "Text printed while the model learns.");
  }
};

}  // namespace weft
