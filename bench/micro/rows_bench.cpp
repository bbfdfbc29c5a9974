// SPDX-License-Identifier: Apache-2.0
// Speed of the operations over rows: attention (training and decoding), residual norm, embedding.
//   OMP_NUM_THREADS=2 build/cpu/bench/micro/rows_bench [--benchmark_filter=attention]
#include <algorithm>
#include <numeric>

#include "bench/micro/support.h"
#include "kernels/ops/attention.h"
#include "kernels/ops/embed.h"
#include "kernels/ops/residual_norm.h"

namespace weft::bench {
namespace {

struct Sequences {
  int32_t count, length;
  int64_t rows() const { return int64_t{count} * length; }
  SharedOffsets offsets() const {
    std::vector<int32_t> all;
    for (int32_t s = 0; s <= count; ++s) all.push_back(s * length);
    return share_offsets(context(), all);
  }
  Dropout dropout(double probability) const {
    std::vector<int32_t> sequence, position;
    for (int32_t r = 0; r < rows(); ++r) sequence.push_back(r / length), position.push_back(r % length);
    return {.probability = probability, .dropout_id = 1, .rows = {integers(sequence), integers(position)}};
  }
};

struct Heads {
  Sequences sequences;
  int64_t heads, head_dim;
  bool causal;
  double dropout;
  DType dtype;
  int64_t window = 0;  // of a causal query; 0: all
  std::string text() const {
    return fmt::format("{}/{}x{}/{}x{}{}{}{}", name(dtype), sequences.count, sequences.length, heads, head_dim,
                       causal ? "/causal" : "", window > 0 ? fmt::format("/window{}", window) : "",
                       dropout > 0 ? "/dropout" : "");
  }
  double product_flops() const {
    const double n = sequences.length, w = window > 0 ? static_cast<double>(window) : n;
    const double pairs = causal ? n * w - w * (w - 1) / 2 : n * n;
    return 2 * pairs * sequences.count * static_cast<double>(heads * head_dim);
  }
};

// Counts FLOPs as the ledger does: two products forward, four backward, without the scores that backward recomputes.
void attention(benchmark::State& state, const Heads& h, bool backward) {
  const int64_t rows = h.sequences.rows(), width = h.heads * h.head_dim;
  const SharedOffsets offsets = h.sequences.offsets();
  const AttentionForward forward{.qkv = tensor({rows, 3 * width}, h.dtype),
                                 .heads = {h.heads, 1, h.head_dim},
                                 .query_offsets = offsets,
                                 .key_offsets = offsets,
                                 .causal = h.causal,
                                 .window = h.window,
                                 .scale = 0.125,
                                 .dropout = h.sequences.dropout(h.dropout),
                                 .out = tensor({rows, width}, h.dtype),
                                 .log_sum = tensor({h.heads, rows}, DType::F32)};
  attention_forward(context(), forward);
  if (!backward) return rate(state, "GFLOP/s", 2 * h.product_flops(), [&] { attention_forward(context(), forward); });
  const AttentionBackward args{.dout = tensor({rows, width}, h.dtype),
                               .qkv = forward.qkv,
                               .heads = forward.heads,
                               .query_offsets = offsets,
                               .key_offsets = offsets,
                               .causal = h.causal,
                               .window = h.window,
                               .scale = forward.scale,
                               .dropout = forward.dropout,
                               .out = forward.out,
                               .log_sum = forward.log_sum,
                               .dqkv = tensor({rows, 3 * width}, h.dtype)};
  rate(state, "GFLOP/s", 4 * h.product_flops(), [&] { attention_backward(context(), args); });
}

// One new row per sequence against a cache of 12 heads of 64; counts the bytes of keys and values that are read.
void decode(benchmark::State& state, int32_t batch, int32_t past, DType dtype) {
  std::vector<int32_t> slots(static_cast<size_t>(batch));
  std::iota(slots.begin(), slots.end(), 0);
  const std::vector<int32_t> pasts(slots.size(), past);
  const CachedAttention args{.qkv = tensor({batch, 2304}, dtype),
                             .heads = {12, 1, 64},
                             .query_offsets = Sequences{batch, 1}.offsets(),
                             .rows = share_cache_rows(context(), slots, pasts),
                             .scale = 0.125,
                             .cache = tensor({batch, 1024, 1536}, dtype),
                             .out = tensor({batch, 768}, dtype)};
  const double bytes = static_cast<double>(batch) * past * 1536 * static_cast<double>(size_of(dtype));
  rate(state, "GB/s", bytes, [&] { cached_attention(context(), args); });
}

// Counts bytes as the ledger does: each tensor once.
template <class Body>
void measured_by_ledger(benchmark::State& state, const char* operation, Body&& body) {
  context().ledger().clear();
  body();
  rate(state, "GB/s", context().ledger().entries().find(std::string_view(operation))->second.bytes, body);
}

void residual_norm(benchmark::State& state, int64_t rows, int64_t width, double dropout, DType dtype, bool backward) {
  const Shape shape{rows, width};
  const ResidualNormForward forward{
      .x = tensor(shape, dtype),
      .bias = tensor({width}, dtype),
      .dropout = Sequences{static_cast<int32_t>(rows), 1}.dropout(dropout),
      .residual = tensor(shape, dtype),
      .gamma = tensor({width}, dtype),
      .beta = tensor({width}, dtype),
      .sum = tensor(shape, dtype),
      .normed = tensor(shape, dtype),
      .mean = tensor({rows}, DType::F32),
      .rstd = tensor({rows}, DType::F32),
  };
  residual_norm_forward(context(), forward);
  if (!backward) {
    return measured_by_ledger(state, "residual_norm_forward", [&] { residual_norm_forward(context(), forward); });
  }
  const ResidualNormBackward args{.dsum = tensor(shape, dtype),
                                  .dnormed = tensor(shape, dtype),
                                  .sum = forward.sum,
                                  .gamma = forward.gamma,
                                  .mean = forward.mean,
                                  .rstd = forward.rstd,
                                  .dropout = forward.dropout,
                                  .dx = {tensor(shape, dtype), Accumulate::Overwrite},
                                  .dresidual = {tensor(shape, dtype), Accumulate::Overwrite},
                                  .dbias = {tensor({width}, DType::F32), Accumulate::Add},
                                  .dgamma = {tensor({width}, DType::F32), Accumulate::Add},
                                  .dbeta = {tensor({width}, DType::F32), Accumulate::Add}};
  measured_by_ledger(state, "residual_norm_backward", [&] { residual_norm_backward(context(), args); });
}

void embed(benchmark::State& state, double dropout, bool backward) {
  const int64_t width = 768, vocabulary = 50257;
  const Sequences sequences{4, 1024};
  std::vector<int32_t> drawn, by_token, by_position;
  for (int32_t r = 0; r < sequences.rows(); ++r) {
    drawn.push_back(static_cast<int32_t>(int64_t{r} * 7919 % vocabulary / (1 + r % 50)));
    by_token.push_back(r), by_position.push_back(r);
  }
  std::ranges::stable_sort(by_token, {}, [&](int32_t r) { return drawn[r]; });
  std::ranges::stable_sort(by_position, {}, [&](int32_t r) { return r % sequences.length; });
  const Tensor tokens = integers(drawn);
  const Dropout mask = sequences.dropout(dropout);
  const Tensor rows = tensor({sequences.rows(), width}, DType::F32);
  const Tensor table = tensor({vocabulary, width}, DType::F32), positions = tensor({1024, width}, DType::F32);
  const EmbedForward forward{.tokens = tokens,
                             .table = table,
                             .positions = positions,
                             .dropout = mask,
                             .row_positions = mask.rows.position,
                             .y = rows};
  if (!backward) return measured_by_ledger(state, "embed_forward", [&] { embed_forward(context(), forward); });
  const EmbedBackward args{.dy = rows,
                           .tokens = tokens,
                           .by_token = integers(by_token),
                           .dropout = mask,
                           .row_positions = mask.rows.position,
                           .by_position = integers(by_position),
                           .dtable = {table, Accumulate::Add},
                           .dpositions = {positions, Accumulate::Add}};
  measured_by_ledger(state, "embed_backward", [&] { embed_backward(context(), args); });
}

void register_all() {
  const std::vector<std::pair<Sequences, std::pair<int64_t, int64_t>>> shapes{
      {{1, 1024}, {12, 64}}, {{12, 64}, {4, 32}}, {{150, 13}, {4, 32}}, {{40, 40}, {8, 16}}};
  for (const DType t : {DType::F32, DType::BF16}) {
    for (const auto& [sequences, heads] : shapes) {
      for (const bool causal : {true, false}) {
        for (const double p : {0.0, 0.1}) {
          const Heads h{sequences, heads.first, heads.second, causal, p, t};
          add("attention_forward/" + h.text(), [=](benchmark::State& s) { attention(s, h, false); });
          add("attention_backward/" + h.text(), [=](benchmark::State& s) { attention(s, h, true); });
        }
      }
    }
    const Heads window{{1, 4096}, 12, 64, true, 0, t, 256};
    add("attention_forward/" + window.text(), [=](benchmark::State& s) { attention(s, window, false); });
    add("attention_backward/" + window.text(), [=](benchmark::State& s) { attention(s, window, true); });
    for (const int32_t batch : {1, 8}) {
      add(fmt::format("cached_attention/{}/{}", name(t), batch),
          [=](benchmark::State& s) { decode(s, batch, 512, t); });
    }
    for (const int64_t width : {128, 768}) {
      for (const double p : {0.0, 0.1}) {
        const std::string text = fmt::format("{}/2048x{}{}", name(t), width, p > 0 ? "/dropout" : "");
        add("residual_norm_forward/" + text, [=](benchmark::State& s) { residual_norm(s, 2048, width, p, t, false); });
        add("residual_norm_backward/" + text, [=](benchmark::State& s) { residual_norm(s, 2048, width, p, t, true); });
      }
    }
  }
  for (const double p : {0.0, 0.1}) {
    const std::string text = p > 0 ? "f32/dropout" : "f32";
    add("embed_forward/" + text, [=](benchmark::State& s) { embed(s, p, false); });
    add("embed_backward/" + text, [=](benchmark::State& s) { embed(s, p, true); });
  }
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  weft::bench::register_all();
  return weft::bench::run(argc, argv);
}
