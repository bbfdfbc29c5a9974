// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <limits>
#include <vector>

#include "base/philox.h"
#include "kernels/ops/attention.h"
#include "tests/kernels/check.h"

// A case of attention with its tensors, and the composed formula in f64 that stores every weight: scores, softmax,
// dropout from the definition in kernels/step_state.h, and the gradients by the chain rule.
namespace weft::test {

struct AttentionCase {
  AttentionHeads heads;
  std::vector<int32_t> query_offsets, key_offsets;
  bool cross = false;
  bool causal = false;
  double dropout = 0;
  int64_t first_head = 0;
  DType dtype = DType::F64;
  int threads = 1;
};

inline std::vector<int32_t> offsets_of(const std::vector<int32_t>& lengths) {
  std::vector<int32_t> offsets{0};
  for (const int32_t n : lengths) offsets.push_back(offsets.back() + n);
  return offsets;
}

class AttentionRun {
 public:
  explicit AttentionRun(const AttentionCase& c, uint64_t seed = 1) : c_(c), context_({}, c.threads) {
    const int64_t rows = c.query_offsets.back(), pair = 2 * c.heads.head_dim;
    const int64_t wide = c.heads.heads() * c.heads.head_dim;
    if (c.cross) {
      q = random(context_, {rows, wide}, c.dtype, seed);
      kv = random(context_, {c.key_offsets.back(), c.heads.kv_heads * pair}, c.dtype, seed + 1);
      dq = random(context_, q.shape(), c.dtype, 77), dkv = random(context_, kv.shape(), c.dtype, 78);
    } else {
      qkv = random(context_, {rows, wide + c.heads.kv_heads * pair}, c.dtype, seed);
      dqkv = random(context_, qkv.shape(), c.dtype, 79);
    }
    dout = random(context_, {rows, wide}, c.dtype, seed + 2);
    out = random(context_, {rows, wide}, c.dtype, 80);  // all of it must be overwritten
    log_sum = random(context_, {c.heads.heads(), rows}, accumulator_of(c.dtype), 81);
    state.dropout_key = 0x1234567890abcdefu;
    std::vector<int32_t> sample, position;
    for (size_t s = 0; s + 1 < c.query_offsets.size(); ++s) {
      for (int32_t i = 0; i < c.query_offsets[s + 1] - c.query_offsets[s]; ++i) {
        sample.push_back(static_cast<int32_t>(50 + s)), position.push_back(i);
      }
    }
    rows_ = {integers(context_, sample), integers(context_, position)};
    query_offsets_ = share_offsets(context_, c.query_offsets);
    key_offsets_ = c.cross ? share_offsets(context_, c.key_offsets) : query_offsets_;
  }

  Dropout dropout() const { return {.probability = c_.dropout, .dropout_id = 9, .step = state, .rows = rows_}; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(c_.heads.head_dim)); }

  void forward() { forward(scale(), dropout()); }
  void forward(double scale, const Dropout& dropout) {
    attention_forward(context_, {.qkv = qkv,
                                 .q = q,
                                 .kv = kv,
                                 .heads = c_.heads,
                                 .query_offsets = query_offsets_,
                                 .key_offsets = key_offsets_,
                                 .causal = c_.causal,
                                 .scale = scale,
                                 .dropout = dropout,
                                 .first_head = c_.first_head,
                                 .out = out,
                                 .log_sum = log_sum});
  }
  void backward() { backward(scale(), dropout()); }
  void backward(double scale, const Dropout& dropout) {
    attention_backward(context_, {.dout = dout,
                                  .qkv = qkv,
                                  .q = q,
                                  .kv = kv,
                                  .heads = c_.heads,
                                  .query_offsets = query_offsets_,
                                  .key_offsets = key_offsets_,
                                  .causal = c_.causal,
                                  .scale = scale,
                                  .dropout = dropout,
                                  .first_head = c_.first_head,
                                  .out = out,
                                  .log_sum = log_sum,
                                  .dqkv = dqkv,
                                  .dq = dq,
                                  .dkv = dkv});
  }

  const AttentionCase& parameters() const { return c_; }
  Context& context() { return context_; }

  StepState state;
  Tensor qkv, q, kv, dout, out, log_sum, dqkv, dq, dkv;

 private:
  AttentionCase c_;
  OperationContext context_;
  RowIds rows_;
  SharedOffsets query_offsets_, key_offsets_;
};

// The composed formula's results, in the shapes of the tensors above.
struct AttentionExpected {
  std::vector<double> out, log_sum, dqkv, dq, dkv;
};

namespace detail {

// The multiplier of weight (query row, key) of a head, as kernels/ops/attention.h and step_state.h define it.
inline double dropout_scale(const AttentionRun& run, int64_t row, int64_t key, int64_t head) {
  const Dropout d = run.dropout();
  if (!d.active()) return 1;
  const auto u32 = [](int64_t v) { return static_cast<uint32_t>(v); };
  const Philox::Counter words = Philox(run.state.dropout_key ^ d.dropout_id)(
      {u32(key / 8), u32(d.rows.position.data<int32_t>()[row]), u32(d.rows.sequence.data<int32_t>()[row]),
       u32(run.parameters().first_head + head)});
  const uint32_t word = words[static_cast<size_t>(key % 8 / 2)];
  const uint32_t bits = key % 2 == 0 ? word & 0xffffu : word >> 16;
  return bits < d.threshold() ? 0 : d.scale();
}

}  // namespace detail

inline AttentionExpected composed_attention(const AttentionRun& run) {
  const AttentionCase& c = run.parameters();
  const int64_t d = c.heads.head_dim, heads = c.heads.heads();
  const std::vector<double> queries = values(c.cross ? run.q : run.qkv), keys = values(c.cross ? run.kv : run.qkv);
  const std::vector<double> dout = values(run.dout);
  const int64_t rows = c.query_offsets.back();
  const int64_t query_group = (c.heads.queries + (c.cross ? 0 : 2)) * d, key_group = c.cross ? 2 * d : query_group;
  const int64_t query_row = c.heads.kv_heads * query_group, key_row = c.heads.kv_heads * key_group;
  const int64_t key_first = c.cross ? 0 : c.heads.queries * d;
  std::vector<double> dqueries(queries.size()), dkeys(keys.size());
  std::vector<double>& dk = c.cross ? dkeys : dqueries;
  AttentionExpected e{.out = std::vector<double>(dout.size()),
                      .log_sum = std::vector<double>(static_cast<size_t>(heads * rows))};
  for (size_t s = 0; s + 1 < c.query_offsets.size(); ++s) {
    const int64_t n = c.key_offsets[s + 1] - c.key_offsets[s];
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t g = h / c.heads.queries;
      for (int64_t row = c.query_offsets[s]; row < c.query_offsets[s + 1]; ++row) {
        const int64_t seen = c.causal ? row - c.query_offsets[s] + 1 : n;
        const int64_t q_at = row * query_row + g * query_group + h % c.heads.queries * d;
        const int64_t o_at = (row * heads + h) * d;
        const auto k_at = [&](int64_t j) { return (c.key_offsets[s] + j) * key_row + g * key_group + key_first; };
        std::vector<double> weight(static_cast<size_t>(seen)), gradient(weight.size());
        double most = -std::numeric_limits<double>::infinity(), sum = 0, delta = 0;
        for (int64_t j = 0; j < seen; ++j) {
          for (int64_t i = 0; i < d; ++i) weight[j] += run.scale() * queries[q_at + i] * keys[k_at(j) + i];
          most = std::max(most, weight[j]);
        }
        for (double& w : weight) w = std::exp(w - most), sum += w;
        e.log_sum[h * rows + row] = most + std::log(sum);
        for (int64_t j = 0; j < seen; ++j) {
          const double m = detail::dropout_scale(run, row, j, h), p = weight[j] / sum;
          weight[j] = p;
          for (int64_t i = 0; i < d; ++i) {
            const double v = keys[k_at(j) + d + i];
            e.out[o_at + i] += p * m * v;
            gradient[j] += m * v * dout[o_at + i];
            dk[k_at(j) + d + i] += p * m * dout[o_at + i];
          }
          delta += p * gradient[j];
        }
        for (int64_t j = 0; j < seen; ++j) {
          const double ds = weight[j] * (gradient[j] - delta) * run.scale();
          for (int64_t i = 0; i < d; ++i) {
            dqueries[q_at + i] += ds * keys[k_at(j) + i];
            dk[k_at(j) + i] += ds * queries[q_at + i];
          }
        }
      }
    }
  }
  (c.cross ? e.dq : e.dqkv) = dqueries;
  if (c.cross) e.dkv = dkeys;
  return e;
}

}  // namespace weft::test
