// SPDX-License-Identifier: Apache-2.0
// Predicted times beside measured ones: steps of weft's that were measured (bench/results), and the steps that llm.c's
// scripts and reports state, which the model was not made from but for the first.
#include <gtest/gtest.h>

#include "job/named_jobs.h"
#include "plan/device_model.h"

namespace weft {
namespace {

// A step of llm.c's, from its source and its scripts (run_gpt2_*.sh): eight devices, context 1,024, ZeRO 1, nothing
// recomputed, attention by cuDNN, gradients in bf16, all logits of a micro-batch at once in bf16.
struct LlmcStep {
  const char* device;
  int64_t layers, width, windows;    // windows: of a micro-batch on each device
  int64_t tokens;                    // of a step, on all devices
  bool gelu_forward, gelu_backward;  // whether products apply it
  double seconds;                    // published
};
constexpr int64_t kDevices = 8, kContext = 1024, kVocabulary = 50304, kHead = 64;

class LlmcPlan {
 public:
  explicit LlmcPlan(const LlmcStep& step) : s(step), rows(s.windows * kContext) {
    plan.layout = {.dp = kDevices};
    plan.micro_batches = s.tokens / (kDevices * rows);
    layer();
    head();
    update();
    plan.operations.emplace("products", products);
    plan.operations.emplace("attention_forward", forward);
    plan.operations.emplace("attention_backward", backward);
    plan.operations.emplace("passes", passes);
  }
  StepPlan plan{.precision = Precision::Bf16, .attention = AttentionChoice::Cudnn};

 private:
  void product(int64_t m, int64_t n, int64_t k, int64_t times, double more = 0) {
    products.parts[{.kind = OperationKind::Product,
                    .m = m,
                    .n = n,
                    .k = k,
                    .bytes = 2.0 * static_cast<double>(m * k + k * n + m * n) + more}] += times * plan.micro_batches;
  }
  // So many passes over [rows, columns] in bf16.
  void pass(double passes_over, int64_t columns, int64_t times) {
    passes.parts[{.bytes = 2.0 * passes_over * static_cast<double>(rows * columns)}] += times * plan.micro_batches;
  }
  // Forward, gradients of the input and of the weight, which is added to, and of the bias, which reads dy again.
  void linear(int64_t in, int64_t out, bool gelu_after, bool gelu_before) {
    const auto saved = [this](bool has, int64_t columns) {
      return has ? 2.0 * static_cast<double>(rows * columns) : 0;
    };
    product(rows, out, in, s.layers, saved(gelu_after, out));
    product(rows, in, out, s.layers, saved(gelu_before, in));
    product(out, in, rows, s.layers, 2.0 * static_cast<double>(in * out));
    pass(1, out, s.layers);
  }
  void layer() {
    const int64_t w = s.width;
    linear(w, 3 * w, false, false);
    linear(w, w, false, false);
    linear(w, 4 * w, s.gelu_forward, false);
    linear(4 * w, w, false, s.gelu_backward);
    if (!s.gelu_forward) pass(2, 4 * w, s.layers);
    if (!s.gelu_backward) pass(3, 4 * w, s.layers);
    pass(4, w, 2 * s.layers);  // a residual sum and its norm: two read, two written
    pass(4, w, 2 * s.layers);  // backward: two gradients and the sum read, one written
    for (Ledger::Entry* attention : {&forward, &backward}) {
      attention->calls = s.layers * plan.micro_batches;
      attention->parts[{.kind = OperationKind::Attention,
                        .m = kContext,
                        .n = kContext,
                        .k = kHead,
                        .backward = attention == &backward,
                        .causal = true,
                        .for_libraries = true}] = attention->calls * s.windows * (w / kHead);
    }
  }
  void head() {
    product(rows, kVocabulary, s.width, 1);
    product(rows, s.width, kVocabulary, 1);
    product(kVocabulary, s.width, rows, 1, 2.0 * static_cast<double>(kVocabulary * s.width));
    pass(2, kVocabulary, 1);  // logits become their gradients
    pass(6, s.width, 1);      // embeddings, the last norm
  }
  // Gradients are cleared and travel in bf16; each device updates its eighth: gradient, two moments, the fp32 and the
  // bf16 weight.
  void update() {
    const auto n = static_cast<double>(12 * s.layers * s.width * s.width + (kVocabulary + kContext) * s.width);
    passes.parts[{.bytes = 2 * n}] += 2;
    passes.parts[{.bytes = (2 + 4 * 4 + 2 * 4 + 2) * n / kDevices}] += 1;
    const double sent = 2 * n * (kDevices - 1) / kDevices;
    plan.traffic["dp.reduce_scatter"] = {.calls = s.layers, .bytes = sent};
    plan.traffic["dp.all_gather"] = {.calls = 1, .bytes = sent};
  }

  const LlmcStep s;
  const int64_t rows;
  Ledger::Entry products{OperationKind::Product, {}}, passes{OperationKind::Memory, {}};
  Ledger::Entry forward{OperationKind::Attention, {}}, backward{OperationKind::Attention, {}};
};

TEST(PublishedTimes, LlmcsStepsAreMetWithin15Percent) {
  for (const LlmcStep& step : {
           LlmcStep{"a100", 12, 768, 64, 524288, false, false, 0.300},  // from which A100's share of products comes
           LlmcStep{"a100", 24, 1024, 64, 524288, false, false, 0.820},
           LlmcStep{"a100", 36, 1280, 32, 524288, false, false, 1.7},
           LlmcStep{"h100", 12, 768, 64, 524288, true, true, 0.140},
           LlmcStep{"h100", 24, 1024, 64, 524288, true, true, 0.348},
           LlmcStep{"h100", 48, 1600, 16, 1048576, true, false, 2.75},
       }) {
    const double predicted = predict_step(LlmcPlan(step).plan, find_device(step.device)).seconds();
    std::printf("llm.c %s, %lld layers: %.1f ms predicted, %.1f published: %+.1f %%\n", step.device,
                static_cast<long long>(step.layers), 1e3 * predicted, 1e3 * step.seconds,
                100 * (predicted / step.seconds - 1));
    EXPECT_NEAR(predicted, step.seconds, 0.15 * step.seconds) << step.device << ", " << step.layers << " layers";
  }
}

struct MeasuredStep {
  const char* model;
  std::vector<std::string> settings;
  double h100, h200;  // tokens/s of one device
};
void PrintTo(const MeasuredStep& step, std::ostream* out) { *out << step.model; }

class MeasuredTimes : public testing::TestWithParam<MeasuredStep> {};

// bench/results/nvidia-h100.json and nvidia-h200.json. 124M and 1558M on the H100 are what the model was made from.
TEST_P(MeasuredTimes, WeftsStepsAreMetWithin8Percent) {
  const MeasuredStep& measured = GetParam();
  const BenchJob& named = find_bench_job(measured.model);
  JobConfig job = job_with(named.job, measured.settings);
  job.train.precision = Precision::Bf16;
  job.train.graphs = GraphChoice::Off;  // as these steps were
  job.tokenizer.vocabulary = named.vocabulary;
  const StepPlan plan = plan_step(job, {.dp = 1}, {.cuda = true});
  for (const auto& [device, rate] : {std::pair{"h100", measured.h100}, std::pair{"h200", measured.h200}}) {
    const PredictedStep step = predict_step(plan, find_device(device));
    const double predicted = static_cast<double>(plan.target_tokens) / step.seconds();
    std::printf(
        "%s on %s: %.0f tokens/s predicted, %.0f measured: %+.1f %% (products %.2f, attention %.2f, memory %.2f, gaps "
        "%.2f of %.2f ms, host %.2f, %lld launches)\n",
        measured.model, device, predicted, rate, 100 * (predicted / rate - 1), 1e3 * step.products,
        1e3 * step.attention, 1e3 * step.memory, 1e3 * step.gaps, 1e3 * step.seconds(), 1e3 * step.host,
        static_cast<long long>(step.launches));
    EXPECT_NEAR(predicted, rate, 0.08 * rate) << device;
  }
}
INSTANTIATE_TEST_SUITE_P(
    Gpt2, MeasuredTimes,
    testing::Values(MeasuredStep{"gpt2-124m", {"batch.sequences=32", "batch.micro_batch_tokens=32768"}, 542531, 561597},
                    MeasuredStep{"gpt2-350m", {"batch.sequences=64", "batch.micro_batch_tokens=16384"}, 203788, 209318},
                    MeasuredStep{"gpt2-774m", {"batch.sequences=32", "batch.micro_batch_tokens=16384"}, 97094, 100236},
                    MeasuredStep{"gpt2-1558m", {"batch.sequences=32", "batch.micro_batch_tokens=8192"}, 48146, 50304}));

}  // namespace
}  // namespace weft
