// SPDX-License-Identifier: Apache-2.0
// model.cross_norm against the formula of a block, in f64.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/ops/elementwise.h"
#include "tests/model/fixture/model.h"

namespace weft {
namespace {

using namespace test;
using Vector = std::vector<double>;

constexpr int64_t kWidth = 12, kHeads = 3, kHeadDim = 4, kVocabulary = 11;
constexpr double kEpsilon = 1e-4, kGamma = 0.5, kBeta = 0.1;

// One layer a side, whose decoder has nothing but cross-attention: its other branches end in zeros.
struct CrossModel {
  Context context;
  Mesh mesh = Mesh::single();
  std::unique_ptr<Transformer> model;

  explicit CrossModel(CrossNorm cross_norm) {
    TransformerConfig c = small_config(true);
    c.layers = c.encoder_layers = 1;
    c.width = kWidth, c.heads = kHeads;
    c.cross_norm = cross_norm, c.final_norm = false, c.norm_epsilon = kEpsilon;
    c.positions = Positions::None;
    model = make_model(context, mesh, {.config = c, .vocabularies = {.source = kVocabulary, .target = kVocabulary}});
    model->allocate(Precision::Fp64, Purpose::Inference);
    model->parameters().initialise(5);
    for (const char* name : {"decoder.0.attention.output.weight", "decoder.0.ffn.down.weight"}) set(name, 0);
    set("decoder.0.cross_norm.weight", kGamma), set("decoder.0.cross_norm.bias", kBeta);
  }
  void set(const std::string& name, double value) { fill(context, model->parameters().find(name)->value(), value); }

  // Row `row` of a parameter seen as a matrix with `columns` columns.
  Vector row(const std::string& name, int64_t row, int64_t columns) const {
    const double* data = model->parameters().find(name)->value().data<double>();
    return {data + row * columns, data + (row + 1) * columns};
  }
  std::vector<Vector> encoded(const std::vector<int32_t>& source) {
    Tape tape(context, Tape::Mode::Off);
    ForwardContext forward{.tape = tape};
    const std::vector<int32_t> offsets{0, static_cast<int32_t>(source.size())};
    const Var states = model->states(forward, pack_tokens(context, {.tokens = source, .offsets = offsets}));
    std::vector<Vector> rows;
    for (size_t t = 0; t < source.size(); ++t) {
      const double* at = states->value.data<double>() + static_cast<int64_t>(t) * kWidth;
      rows.emplace_back(at, at + kWidth);
    }
    return rows;
  }
  Vector decoded(const std::vector<int32_t>& source, int32_t token) {
    const std::vector<int32_t> ends{0, static_cast<int32_t>(source.size())}, tokens{token}, offsets{0, 1};
    const auto cache = model->begin_decoding(pack_tokens(context, {.tokens = source, .offsets = ends}), 1, 1, 16);
    const Tensor logits = model->decode(*cache, tokens, offsets);
    return {logits.data<double>(), logits.data<double>() + kVocabulary};
  }
  // The cost of the first token in the pass that evaluates whole sentences.
  double cost(const std::vector<int32_t>& source, int32_t token, int32_t target) {
    const std::vector<int32_t> ends{0, static_cast<int32_t>(source.size())}, tokens{token}, offsets{0, 1};
    ModelBatch batch{.source = pack_tokens(context, {.tokens = source, .offsets = ends}),
                     .input = pack_tokens(context, {.tokens = tokens, .offsets = offsets}),
                     .targets = context.empty({1}, DType::I32)};
    batch.targets.data<int32_t>()[0] = target;
    Tape tape(context, Tape::Mode::Off);
    ForwardContext forward{.tape = tape};
    const LossSums sums = no_losses(context);
    model->loss(forward, batch, {}, sums);
    return sums.nll.data<double>()[0];
  }
};

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Vector layer_norm(const Vector& x) {
  double mean = 0, variance = 0;
  for (const double v : x) mean += v / kWidth;
  for (const double v : x) variance += (v - mean) * (v - mean) / kWidth;
  Vector y;
  for (const double v : x) y.push_back(kGamma * (v - mean) / std::sqrt(variance + kEpsilon) + kBeta);
  return y;
}

// What the attention of one head makes of the memory.
Vector head_output(const CrossModel& m, int64_t head, const Vector& query_input, const std::vector<Vector>& memory) {
  Vector weights, out(kHeadDim);
  double total = 0;
  const auto product = [&](const char* name, int64_t row, const Vector& x) { return dot(m.row(name, row, kWidth), x); };
  for (const Vector& z : memory) {
    double score = 0;
    for (int64_t d = 0; d < kHeadDim; ++d) {
      score += product("decoder.0.cross.q.weight", head * kHeadDim + d, query_input) *
               product("decoder.0.cross.kv.weight", 2 * head * kHeadDim + d, z);
    }
    weights.push_back(std::exp(score / std::sqrt(static_cast<double>(kHeadDim))));
    total += weights.back();
  }
  for (size_t t = 0; t < memory.size(); ++t) {
    for (int64_t d = 0; d < kHeadDim; ++d) {
      out[d] += weights[t] / total * product("decoder.0.cross.kv.weight", (2 * head + 1) * kHeadDim + d, memory[t]);
    }
  }
  return out;
}

// The logits of a decoder's first token.
Vector expected(CrossModel& m, CrossNorm cross_norm, const std::vector<int32_t>& source, int32_t token) {
  const Vector x = m.row("decoder.embedding.tokens", token, kWidth);
  std::vector<Vector> memory = m.encoded(source);
  if (cross_norm == CrossNorm::Memory) {
    for (Vector& z : memory) z = layer_norm(z);
  }
  Vector heads;
  for (int64_t h = 0; h < kHeads; ++h) {
    for (const double v : head_output(m, h, cross_norm == CrossNorm::Query ? layer_norm(x) : x, memory)) {
      heads.push_back(v);
    }
  }
  Vector y = x, logits;
  for (int64_t i = 0; i < kWidth; ++i) y[i] += dot(m.row("decoder.0.cross.output.weight", i, kWidth), heads);
  for (int64_t v = 0; v < kVocabulary; ++v) logits.push_back(dot(m.row("decoder.embedding.tokens", v, kWidth), y));
  return logits;
}

TEST(CrossNorm, QueryOrMemoryIsNormedAndTheOtherIsNot) {
  const std::vector<int32_t> source{3, 9, 4};
  for (const CrossNorm cross_norm : {CrossNorm::Query, CrossNorm::Memory}) {
    CrossModel m(cross_norm);
    const Vector found = m.decoded(source, 7), formula = expected(m, cross_norm, source, 7);
    for (int64_t v = 0; v < kVocabulary; ++v) EXPECT_NEAR(found[v], formula[v], 1e-12) << enum_name(cross_norm);
    double total = 0;
    for (const double logit : formula) total += std::exp(logit);
    EXPECT_NEAR(m.cost(source, 7, 5), std::log(total) - formula[5], 1e-12) << enum_name(cross_norm);
  }
}

}  // namespace
}  // namespace weft
