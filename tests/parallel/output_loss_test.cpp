// SPDX-License-Identifier: Apache-2.0
#include "parallel/output_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "kernels/ops/elementwise.h"
#include "parallel/local/in_process.h"

namespace weft {
namespace {

constexpr int64_t kTokens = 40, kWidth = 3, kVocabulary = 5;
constexpr double kSmoothing = 0.1, kZLoss = 0.05, kScale = 0.25;

double hidden_at(int64_t t, int64_t w) { return std::sin(static_cast<double>(3 * t + w)); }
double weight_at(int64_t v, int64_t w) { return std::cos(static_cast<double>(7 * v + w)); }
double bias_at(int64_t v) { return 0.1 * static_cast<double>(v); }
int32_t target_at(int64_t t) { return t % 8 == 3 ? -1 : static_cast<int32_t>(t % kVocabulary); }

// The results of one rank with `rows` rows of the vocabulary from `first` on; rows beyond its end are zero.
struct Result {
  std::vector<double> loss, nll, dhidden, dweight, dbias;
};
Result run(Communicator* tp, int64_t first, int64_t rows, int64_t chunk_bytes) {
  Context context;
  const auto tensor = [&](const Shape& shape) { return context.zeros(shape, DType::F64); };
  OutputLoss a{.tp = tp,
               .vocabulary = kVocabulary,
               .smoothing = kSmoothing,
               .z_loss = kZLoss,
               .step = {.inverse_divisor = kScale}};
  context.set_logits_chunk(chunk_bytes);
  a.hidden = tensor({kTokens, kWidth}), a.weight = tensor({rows, kWidth}), a.bias = tensor({rows});
  a.targets = context.empty({kTokens}, DType::I32);
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t w = 0; w < kWidth; ++w) a.hidden.data<double>()[t * kWidth + w] = hidden_at(t, w);
    a.targets.data<int32_t>()[t] = target_at(t);
  }
  for (int64_t v = first; v < std::min(first + rows, kVocabulary); ++v) {
    for (int64_t w = 0; w < kWidth; ++w) a.weight.data<double>()[(v - first) * kWidth + w] = weight_at(v, w);
    a.bias.data<double>()[v - first] = bias_at(v);
  }
  a.loss = tensor({kTokens}), a.nll = tensor({kTokens}), a.dhidden = tensor({kTokens, kWidth});
  a.dweight = {tensor({rows, kWidth}), Accumulate::Add}, a.dbias = {tensor({rows}), Accumulate::Add};
  output_loss(context, a);
  const auto values = [](const Tensor& t) {
    return std::vector<double>(t.span<double>().begin(), t.span<double>().end());
  };
  return {values(a.loss), values(a.nll), values(a.dhidden), values(a.dweight.tensor), values(a.dbias.tensor)};
}

// The formula: -sum of q log p, q = (1 - s) at the target + s / vocabulary everywhere, and z (log Z)^2; the gradient of
// a logit is scale ((1 + 2 z log Z) p - q).
Result expected() {
  Result r{std::vector<double>(kTokens), std::vector<double>(kTokens), std::vector<double>(kTokens * kWidth),
           std::vector<double>(kVocabulary * kWidth), std::vector<double>(kVocabulary)};
  for (int64_t t = 0; t < kTokens; ++t) {
    if (target_at(t) < 0) continue;
    std::vector<double> logits(kVocabulary);
    double sum = 0;
    for (int64_t v = 0; v < kVocabulary; ++v) {
      logits[v] = bias_at(v);
      for (int64_t w = 0; w < kWidth; ++w) logits[v] += hidden_at(t, w) * weight_at(v, w);
      sum += std::exp(logits[v]);
    }
    const double log_z = std::log(sum);
    r.loss[t] = kZLoss * log_z * log_z;
    for (int64_t v = 0; v < kVocabulary; ++v) {
      const double log_p = logits[v] - log_z, hit = v == target_at(t) ? 1 : 0;
      const double q = (1 - kSmoothing) * hit + kSmoothing / kVocabulary;
      r.loss[t] -= q * log_p;
      r.nll[t] -= hit * log_p;
      const double d = kScale * ((1 + 2 * kZLoss * log_z) * std::exp(log_p) - q);
      r.dbias[v] += d;
      for (int64_t w = 0; w < kWidth; ++w) {
        r.dhidden[t * kWidth + w] += d * weight_at(v, w);
        r.dweight[v * kWidth + w] += d * hidden_at(t, w);
      }
    }
  }
  return r;
}

void near(const std::vector<double>& got, const std::vector<double>& want, size_t first = 0) {
  for (size_t i = 0; i < got.size() && first + i < want.size(); ++i) EXPECT_NEAR(got[i], want[first + i], 1e-12) << i;
}

TEST(OutputLoss, IsTheFormulaWhateverItsChunks) {
  for (const int64_t chunk_bytes : {int64_t{1}, int64_t{1} << 20}) {  // chunks of 16 tokens; all tokens at once
    const Result got = run(nullptr, 0, kVocabulary, chunk_bytes), want = expected();
    near(got.loss, want.loss), near(got.nll, want.nll), near(got.dhidden, want.dhidden);
    near(got.dweight, want.dweight), near(got.dbias, want.dbias);
  }
}

// Three rows a rank, the last two of the last rank padding: all ranks get the losses, each its part of the gradients.
TEST(OutputLoss, DividesTheVocabulary) {
  const Result want = expected();
  std::vector<double> dhidden(kTokens * kWidth);
  std::mutex mutex;
  run_in_process({.tp = 2}, [&](Mesh& mesh, int rank) {
    const Result got = run(&mesh.tp(), 3 * rank, 3, 1);
    const std::lock_guard lock(mutex);
    near(got.loss, want.loss), near(got.nll, want.nll);
    near(got.dweight, want.dweight, static_cast<size_t>(3 * rank * kWidth));
    near(got.dbias, want.dbias, static_cast<size_t>(3 * rank));
    if (rank == 1) {
      EXPECT_EQ(got.dbias[2], 0) << "padding";
    }
    for (size_t i = 0; i < dhidden.size(); ++i) dhidden[i] += got.dhidden[i];
  });
  near(dhidden, want.dhidden);
}

// Gradients of the last step must not be used again.
TEST(OutputLoss, NoRowsGiveNoGradient) {
  Context context;
  const Tensor dweight = context.zeros({kVocabulary, kWidth}, DType::F64),
               dbias = context.zeros({kVocabulary}, DType::F64);
  OutputLoss a{.vocabulary = kVocabulary,
               .hidden = context.zeros({0, kWidth}, DType::F64),
               .weight = context.zeros({kVocabulary, kWidth}, DType::F64),
               .bias = context.zeros({kVocabulary}, DType::F64),
               .targets = context.zeros({0}, DType::I32),
               .loss = context.zeros({0}, DType::F64),
               .dhidden = context.zeros({0, kWidth}, DType::F64),
               .dweight = {dweight, Accumulate::Add},
               .dbias = {dbias, Accumulate::Add}};
  fill(context, dweight, 3), fill(context, dbias, 3);
  output_loss(context, a);
  EXPECT_EQ(dweight.data<double>()[7], 3) << "nothing is added";
  a.dweight.mode = a.dbias.mode = Accumulate::Overwrite;
  output_loss(context, a);
  for (const double d : dweight.span<double>()) EXPECT_EQ(d, 0);
  for (const double d : dbias.span<double>()) EXPECT_EQ(d, 0);
}

// A chunk has as many logits as the weight has elements, between 4 MiB and 128 MiB.
TEST(OutputLoss, DerivesItsChunks) {
  const auto chunks = [](int64_t rows, int64_t vocabulary, int64_t width) {
    Context dry(Device{DeviceKind::Meta});
    output_loss(dry, {.vocabulary = vocabulary,
                      .hidden = dry.empty({rows, width}, DType::BF16),
                      .weight = dry.empty({vocabulary, width}, DType::BF16),
                      .targets = dry.empty({rows}, DType::I32),
                      .loss = dry.empty({rows}, DType::F32)});
    return dry.ledger().entries().at("cross_entropy").calls;
  };
  EXPECT_EQ(chunks(1280, 9712, 128), 10);     // 128 rows each
  EXPECT_EQ(chunks(667 * 3, 50257, 768), 3);  // 128 MiB
  EXPECT_EQ(chunks(8192 * 2, 128, 64), 2);    // 4 MiB
}

}  // namespace
}  // namespace weft
