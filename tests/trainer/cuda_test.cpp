// SPDX-License-Identifier: Apache-2.0
// Whole training steps on a CUDA device, real or simulated, beside the CPU's: loss, norm and every gradient.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "parallel/output_loss.h"
#include "tests/trainer/fixture/copy_under_way.h"
#include "tests/trainer/fixture/covering_layouts.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

// The devices sum a few thousand terms in different orders and use different elementary functions; in bf16 each
// activation is rounded to 2^-9, and two layers of them add up.
double tolerance(Precision precision) { return precision == Precision::Bf16 ? 3e-2 : 2e-4; }

struct Gradients {
  double loss = 0, norm = 0;
  std::map<std::string, std::vector<float>> of;
};

// The loss, norm and gradients of a run's first step.
Gradients gradients(const Cell& cell, Context& context) {
  Mesh mesh = Mesh::single();
  LayoutModel trained(cell.what, cell.layout, mesh, context);
  const StepReport report = trained.step({.dropout_key = 7});
  Gradients found{.loss = report.outcome.loss, .norm = report.outcome.gradient_norm};
  const ParameterRegistry& registry = trained.model().parameters();
  const Tensor& flat = registry.flat_gradient();
  for (const auto& p : registry.parameters()) {
    if (p->spec().frozen) continue;
    const int64_t begin = p->flat_offset() - registry.layout().trained_begin;
    std::vector<float>& gradient = found.of[p->spec().name];
    gradient.resize(static_cast<size_t>(p->extent().elements()));  // rows of padding come last
    download(context, flat.flat(begin, p->extent()), std::span<float>(gradient));
  }
  return found;
}

std::vector<Cell> cells() {
  const LoraConfig adapters{.rank = 4, .dropout = 0.1, .targets = {"attention.*", "ffn.*"}};
  std::vector<Cell> all = {
      {"GptGrouped", {.heads = 8, .kv_heads = 2}, {}},
      {"GptSinusoidal", {.positions = Positions::Sinusoidal, .scale_embedding = true, .bias = false}, {}},
      {"Projected", {.embedding_width = 40}, {}},
      {"Seq2SeqPostNorm", {.seq2seq = true, .norm = NormPlacement::Post}, {}},
      {"Seq2SeqMemoryNorm", {.seq2seq = true, .cross_norm = CrossNorm::Memory, .padding_id = 0}, {}},
      {"GptLora", {.lora = adapters}, {}},
      {"GptPartlyFrozen", {.freeze = {"decoder.embedding.*", "decoder.0.*", "output.*"}}, {}},
  };
  for (const bool seq2seq : {false, true}) {
    const std::string model = seq2seq ? "Seq2Seq" : "Gpt";
    for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
      const std::string name = model + (precision == Precision::Bf16 ? "Bf16" : "");
      all.push_back({name, {.seq2seq = seq2seq, .precision = precision}, {}});
      all.push_back(
          {name, {.seq2seq = seq2seq, .precision = precision}, {.recompute = Recompute::Block, .micro_rows = 40}});
    }
    all.push_back({model, {.seq2seq = seq2seq}, {.recompute = Recompute::Attention}});
    all.push_back({model + "ZLoss", {.seq2seq = seq2seq, .z_loss = 0.01}, {}});
  }
  return all;
}

class CudaSteps : public testing::TestWithParam<Cell> {};

TEST_P(CudaSteps, GiveTheLossAndEveryGradientOfTheCpu) {
  Context cpu, cuda(Device{DeviceKind::Cuda});
  const Gradients expected = gradients(GetParam(), cpu), found = gradients(GetParam(), cuda);
  const double allowed = tolerance(GetParam().what.precision);
  EXPECT_NEAR(found.loss, expected.loss, allowed * expected.loss);
  EXPECT_NEAR(found.norm, expected.norm, allowed * expected.norm);
  ASSERT_EQ(found.of.size(), expected.of.size());
  for (const auto& [name, gradient] : expected.of) {
    const std::vector<float>& other = found.of.at(name);
    double largest = 0, difference = 0;
    for (size_t i = 0; i < gradient.size(); ++i) {
      largest = std::max<double>(largest, std::abs(gradient[i]));
      difference = std::max<double>(difference, std::abs(gradient[i] - other[i]));
    }
    // The gradient of a key's bias is zero except for rounding: it is compared with the size of the other gradients.
    EXPECT_LE(difference, allowed * std::max(largest, 1e-3 * expected.norm)) << name << ", up to " << largest;
  }
}

TEST_P(CudaSteps, TrainAsTheCpuDoesAndReadTheDeviceOnceAStep) {
  LayoutCase brief = GetParam().what;
  brief.steps = 3;
  Context cpu, cuda(Device{DeviceKind::Cuda});
  Mesh mesh = Mesh::single(), other = Mesh::single();
  const LayoutRun expected = train(brief, GetParam().layout, mesh, cpu);
  const LayoutRun found = train(brief, GetParam().layout, other, cuda);
  for (size_t i = 0; i < expected.losses.size(); ++i) {
    EXPECT_NEAR(found.losses[i], expected.losses[i], tolerance(brief.precision) * expected.losses[i]) << i;
  }
  EXPECT_EQ(found.unchanged, found.frozen);
  EXPECT_EQ(found.downloads, 3);
}

INSTANTIATE_TEST_SUITE_P(Models, CudaSteps, testing::ValuesIn(cells()), cell_name);

TEST(CudaRun, ARepeatedRunIsBitIdentical) {
  const auto once = [] {
    Context cuda(Device{DeviceKind::Cuda});
    Mesh mesh = Mesh::single();
    return train({.steps = 3, .precision = Precision::Bf16}, {}, mesh, cuda).values;
  };
  EXPECT_EQ(once(), once());
}

// 300 rows of which 200 fit are three chunks of whole tiles' rows on a device, and two on the CPU.
TEST(CudaRun, LogitsAreInChunksOfWholeTiles) {
  const auto chunks = [](Context& context) {
    constexpr int64_t kRows = 300, kWidth = 8, kVocabulary = 16;
    context.set_logits_chunk(200 * kVocabulary * static_cast<int64_t>(sizeof(float)));
    const auto zeros = [&](const Shape& shape, DType dtype) { return context.zeros(shape, dtype); };
    output_loss(context, {.vocabulary = kVocabulary,
                          .hidden = zeros({kRows, kWidth}, DType::F32),
                          .weight = zeros({kVocabulary, kWidth}, DType::F32),
                          .targets = zeros({kRows}, DType::I32),
                          .loss = zeros({kRows}, DType::F32),
                          .nll = zeros({kRows}, DType::F32)});
    context.finish();
    return context.ledger().entries().at("cross_entropy").calls;
  };
  Context cpu, cuda(Device{DeviceKind::Cuda});
  EXPECT_EQ(chunks(cpu), 2);
  EXPECT_EQ(chunks(cuda), 3);
}

TEST(CudaRun, TheFingerprintNamesTheLogitsInMemory) {
  const auto named = [](const Context& context) {
    for (const auto& [what, value] : context.fingerprint()) {
      if (what == "logits") return value;
    }
    return std::string();
  };
  Context cpu, cuda(Device{DeviceKind::Cuda});
  EXPECT_EQ(named(cpu), "");
  EXPECT_EQ(named(cuda), "chunks of 1073741824 bytes");
  cpu.set_logits_chunk(1 << 20);
  EXPECT_EQ(named(cpu), "chunks of 1048576 bytes");
}

// After the first steps a run allocates no device memory: cudaMalloc and cudaFree wait for all work of the device.
TEST(CudaRun, AWarmStepAllocatesNothing) {
  Context cuda(Device{DeviceKind::Cuda});
  Mesh mesh = Mesh::single();
  LayoutModel trained({.precision = Precision::Bf16}, {}, mesh, cuda);
  for (uint64_t i = 0; i < 2; ++i) trained.step({.learning_rate = 1e-3, .dropout_key = i});
  const size_t held = cuda.memory().use().held();
  cuda.memory().reset_peak();
  for (uint64_t i = 2; i < 5; ++i) {
    trained.step({.learning_rate = 1e-3, .dropout_key = i});
    EXPECT_EQ(cuda.memory().use().held(), held) << i;
  }
  EXPECT_EQ(cuda.memory().use().peak, held);
}

// Only the device waits for the copy: its update comes after it.
TEST(CudaRun, TheUpdateComesAfterTheSnapshotOfWhatItChanges) {
  Context cuda(Device{DeviceKind::Cuda});
  Mesh mesh = Mesh::single();
  LayoutModel trained({}, {}, mesh, cuda);
  // A step that frees device memory waits for all work of the device, and the update would come last by luck.
  trained.rehearse_largest();
  for (uint64_t i = 0; i < 3; ++i) trained.step({.learning_rate = 1e-3, .dropout_key = i});
  const size_t held = cuda.memory().use().held();
  const Tensor& master = trained.model().parameters().master().data;
  CopyUnderWay copy(cuda, master);
  trained.step({.learning_rate = 1e-3, .dropout_key = 3});
  EXPECT_EQ(cuda.memory().use().held(), held);
  copy.expect_values_before();
  std::vector<float> after(copy.before().size());
  download(cuda, master, std::span(after));
  EXPECT_NE(after, copy.before());
}

// A run that is interrupted after its save resumes on the other device: checkpoints are independent of devices.
TEST(CudaRun, CheckpointsGoFromDeviceToDevice) {
  const Scratch scratch;
  SmallRun plain(scratch, "plain"), moved(scratch, "moved", SmallRun::sample_text());
  for (SmallRun* run : {&plain, &moved}) run->job().evaluation.every_steps = 2;
  const TrainResult expected = plain.train();
  struct BrokenOff {};
  EXPECT_THROW(
      {
        Context cuda(Device{DeviceKind::Cuda});
        moved.train_on(cuda, {}, {}, [](int64_t step) {
          if (step == 5) throw BrokenOff();
        });
      },
      BrokenOff);
  ASSERT_TRUE(fs::exists(moved.checkpoint(3)));
  const TrainResult result = moved.train();
  EXPECT_NEAR(result.best_loss, expected.best_loss, 1e-3 * expected.best_loss);
}

}  // namespace
}  // namespace weft
