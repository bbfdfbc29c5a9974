// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cuda/attention/products.cuh"
#include "kernels/cuda/attention/rows.h"
#include "kernels/cuda/attention/shape.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cudnn/attention.h"
#include "kernels/cuda/exponential.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/tuning.h"
#include "kernels/ops/attention.h"

namespace weft::cuda {
namespace {

// With P the weights, M the dropout multipliers, both recomputed, and delta = rowsum(dout * out):
// dV = (P M)^T dout; dS = P (dout V^T M - delta); dQ = scale dS K; dK = scale dS^T Q.
// One kernel makes dK and dV, a block for each tile of keys, which takes all queries of the group in turn; another
// makes dQ, a block for each tile of queries. So each sum has one owner and one order, at seven products instead of
// five.
template <class T>
struct AttentionBackwardArgs {
  HeadRows<const T> from;
  HeadRows<T> to;
  const T* dout;
  const float *log_sum, *delta;  // [heads, rows]
  int64_t rows;                  // queries of all sequences
  const int32_t *query_offsets, *key_offsets;
  int sequences, groups, queries;  // queries: query heads of a group
  bool causal, vectors;
  float scale;
  AttentionDropout dropout;  // the dropout of head 0

  __device__ const T* dout_row(int64_t row, int head) const {
    return dout + (row * groups * queries + head) * from.width;
  }
};

template <class T, int kWidth>
using KeyShape = AttentionGradientShape<T, kWidth, 2>;
template <class T, int kWidth>
using QueryShape = AttentionGradientShape<T, kWidth, 1>;

// The numbers of each query of a tile: log_sum, delta and, for the dropout, the row's identity.
template <int kCount>
struct QueryNumbers {
  float log_sum[kCount], delta[kCount];
  int32_t position[kCount], sequence[kCount];

  // Requests the numbers of query r for this thread; they become 0 if `inside` is false.
  template <class T>
  __device__ void fetch(const AttentionBackwardArgs<T>& args, int r, int head, int64_t row, bool inside) {
    const int64_t at = head * args.rows + row;
    copy_4_later(log_sum + r, args.log_sum + at, inside);
    copy_4_later(delta + r, args.delta + at, inside);
    if (!args.dropout.mask.active()) return;
    copy_4_later(position + r, args.dropout.mask.positions + row, inside);
    copy_4_later(sequence + r, args.dropout.mask.sequences + row, inside);
  }
};

// The dropout of one block of weights.
struct Dropped {
  bool active = false;
  uint32_t kept = 0;  // bit 4 j + i: element [j][i]
  float scale = 1;
  __device__ float operator()(float x, int j, int i) const {
    if (!active) return x;
    return kept >> (4 * j + i) & 1u ? x * scale : 0;
  }
};

// weights: scores -> P M; dweights: dout V^T -> dS. Both become 0 behind the mask. base: scale log2(e).
template <bool kEdge, int kCount, class LogSum, class Delta>
__device__ void score_gradients(float (&weights)[kCount / 8][4], float (&dweights)[kCount / 8][4], int begin,
                                const Seen& seen, float base, const Dropped& dropped, LogSum log_sum, Delta delta) {
#pragma unroll
  for (int j = 0; j < kCount / 8; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const bool sees = !kEdge || seen(i / 2, begin + 8 * j + lane() % 4 * 2 + i % 2);
      const float weight = exponential(fmaf(weights[j][i], base, -log_sum(j, i) * kLog2E));
      const float gradient = weight * (dropped(dweights[j][i], j, i) - delta(j, i));
      weights[j][i] = sees ? dropped(weight, j, i) : 0;
      dweights[j][i] = sees ? gradient : 0;
    }
  }
}

template <class T, int kWidth>
__global__ void __launch_bounds__(KeyShape<T, kWidth>::kThreads, KeyShape<T, kWidth>::kBlocks)
    attention_key_gradients(const AttentionBackwardArgs<T> args) {
  using Shape = KeyShape<T, kWidth>;
  constexpr int kOther = Shape::kOther, kColumns = Shape::kColumns;
  extern __shared__ __align__(16) std::byte shared[];
  T* const own[2] = {reinterpret_cast<T*>(shared), reinterpret_cast<T*>(shared + Shape::kOwnBytes)};  // keys, values
  const auto buffer = [&](int i) {
    return reinterpret_cast<T*>(shared + 2 * Shape::kOwnBytes + i * Shape::kOtherBytes);
  };
  auto* const numbers = reinterpret_cast<QueryNumbers<kOther>*>(buffer(4));

  const SequenceTile tile(args.key_offsets, args.sequences, blockIdx.x, Shape::kOwn);
  if (tile.empty()) return;
  const int group = static_cast<int>(blockIdx.y), width = args.from.width;
  const int first_column = Shape::kParts == 1 ? 0 : static_cast<int>(blockIdx.z) * kColumns,
            columns = min(kColumns, width - first_column);
  if (columns <= 0) return;
  const int64_t query_row = args.query_offsets[tile.sequence];
  const int rows = static_cast<int>(args.query_offsets[tile.sequence + 1] - query_row);
  const int start = args.causal ? tile.begin / kOther * kOther : 0;  // begin of the first query tile that sees a key

  // A tile of queries: which query head of the group, and where it begins. Each head's tiles go one after the other.
  struct QueryTile {
    int query, begin;
  };
  const auto after = [&](const QueryTile& t) {
    return t.begin + kOther < rows ? QueryTile{t.query, t.begin + kOther} : QueryTile{t.query + 1, start};
  };
  const auto fetch = [&](const QueryTile& t, int turn) {
    if (t.query < args.queries) {
      const int begin = t.begin, count = min(kOther, rows - begin), head = group * args.queries + t.query;
      const T* from = args.from.query(query_row + begin, group, t.query);
      const T* dout = args.dout_row(query_row + begin, head);
      const int64_t stride = args.from.query_row, dout_stride = args.dout_row(1, 0) - args.dout;
      copy_tile<T, kWidth, kOther, Shape::kThreads>(buffer(2 * turn), from, stride, count, width, args.vectors);
      copy_tile<T, kWidth, kOther, Shape::kThreads>(buffer(2 * turn + 1), dout, dout_stride, count, width,
                                                    args.vectors);
      if (const int r = static_cast<int>(threadIdx.x); r < kOther) {
        numbers[turn].fetch(args, r, head, query_row + begin + (r < count ? r : 0), r < count);
      }
    }
    commit_copies();
  };
#pragma unroll
  for (int which = 0; which < 2; ++which) {
    const T* from = args.from.key(tile.row + tile.begin, group) + which * width;
    const int64_t stride = args.from.key_row;
    copy_tile<T, kWidth, Shape::kOwn, Shape::kThreads>(own[which], from, stride,
                                                       min(Shape::kOwn, tile.length - tile.begin), width, args.vectors);
  }
  QueryTile at{rows > start ? 0 : args.queries, start};
  fetch(at, 0);

  const int first = static_cast<int>(threadIdx.x) / kWarp * kWarpRows, position = tile.begin + first;
  const Seen seen[1] = {seen_from(position, position < tile.length ? rows : 0, args.causal)};  // else no keys
  float dkeys[1][kColumns / 8][4], dvalues[1][kColumns / 8][4];
  clear(dkeys), clear(dvalues);
  for (int turn = 0; at.query < args.queries; at = after(at), turn ^= 1) {
    fetch(after(at), turn ^ 1);
    wait_for_copies<1>();
    __syncthreads();
    const int begin = at.begin;
    const T *queries = buffer(2 * turn), *dout = buffer(2 * turn + 1);
    const QueryNumbers<kOther>& number = numbers[turn];
    const auto take = [&]<bool kEdge>() {
      float weights[1][kOther / 8][4], dweights[1][kOther / 8][4];
      row_products<kWidth, kOther>(own[0], first, queries, weights);
      row_products<kWidth, kOther>(own[1], first, dout, dweights);
      Dropped dropped{.active = args.dropout.mask.active()};
      if (dropped.active) {
        AttentionDropout dropout = args.dropout;
        dropout.head += group * args.queries + at.query;
        dropped.scale = dropout.mask.scale;
        dropped.kept = dropout.kept_queries<kOther>(position, [&](int c) {
          return AttentionDropout::Row{number.position[c], number.sequence[c]};
        });
      }
      score_gradients<kEdge, kOther>(
          weights[0], dweights[0], begin, seen[0], args.scale * kLog2E, dropped,
          [&](int j, int i) { return number.log_sum[8 * j + lane() % 4 * 2 + i % 2]; },
          [&](int j, int i) { return number.delta[8 * j + lane() % 4 * 2 + i % 2]; });
      add_weighted<kEdge, kWidth, kOther, kColumns>(dvalues, weights, dout, first_column, begin, seen);
      add_weighted<kEdge, kWidth, kOther, kColumns>(dkeys, dweights, queries, first_column, begin, seen);
    };
    if (seen[0].all(begin, kOther)) {
      take.template operator()<false>();
    } else if (seen[0].any(begin, kOther)) {
      take.template operator()<true>();
    }
    __syncthreads();  // this buffer is filled again in the next round
  }
  wait_for_copies<0>();  // without a query nothing has waited for the keys and values, whose place is written now
  __syncthreads();

  const int left = tile.length - position;
  T* const to = args.to.key(tile.row + position, group) + first_column;
  const auto row = [&](T* at) {
    return [=, stride = args.to.key_row](int r) { return r < left ? at + r * stride : nullptr; };
  };
  store_rows<T, kWidth, kColumns>(dkeys[0], {args.scale, args.scale}, own[0], first, columns, args.vectors, row(to));
  store_rows<T, kWidth, kColumns>(dvalues[0], {1, 1}, own[1], first, columns, args.vectors, row(to + width));
}

template <class T, int kWidth>
__global__ void __launch_bounds__(QueryShape<T, kWidth>::kThreads, QueryShape<T, kWidth>::kBlocks)
    attention_query_gradients(const AttentionBackwardArgs<T> args) {
  using Shape = QueryShape<T, kWidth>;
  constexpr int kOther = Shape::kOther, kColumns = Shape::kColumns;
  extern __shared__ __align__(16) std::byte shared[];
  T* const own[2] = {reinterpret_cast<T*>(shared), reinterpret_cast<T*>(shared + Shape::kOwnBytes)};  // queries, dout
  const auto buffer = [&](int i) {
    return reinterpret_cast<T*>(shared + 2 * Shape::kOwnBytes + i * Shape::kOtherBytes);
  };

  // The last tiles of a causal sequence see the most keys: they go first.
  const SequenceTile tile(args.query_offsets, args.sequences, gridDim.x - 1 - blockIdx.x, Shape::kOwn);
  if (tile.empty()) return;
  const int head = static_cast<int>(blockIdx.y), group = head / args.queries, width = args.from.width;
  const int first_column = Shape::kParts == 1 ? 0 : static_cast<int>(blockIdx.z) * kColumns,
            columns = min(kColumns, width - first_column);
  const int64_t key_row = args.key_offsets[tile.sequence];
  const int keys = static_cast<int>(args.key_offsets[tile.sequence + 1] - key_row);
  const int rows = min(Shape::kOwn, tile.length - tile.begin);
  const int end = args.causal ? min(keys, tile.begin + rows) : keys;

  const auto fetch = [&](int begin, int turn) {
    if (begin < end) {
      const T* from = args.from.key(key_row + begin, group);
      const int64_t stride = args.from.key_row;
      const int count = min(kOther, keys - begin);
      copy_tile<T, kWidth, kOther, Shape::kThreads>(buffer(2 * turn), from, stride, count, width, args.vectors);
      copy_tile<T, kWidth, kOther, Shape::kThreads>(buffer(2 * turn + 1), from + width, stride, count, width,
                                                    args.vectors);
    }
    commit_copies();
  };
  {
    const T* from = args.from.query(tile.row + tile.begin, group, head % args.queries);
    const T* dout = args.dout_row(tile.row + tile.begin, head);
    const int64_t stride = args.from.query_row, dout_stride = args.dout_row(1, 0) - args.dout;
    copy_tile<T, kWidth, Shape::kOwn, Shape::kThreads>(own[0], from, stride, rows, width, args.vectors);
    copy_tile<T, kWidth, Shape::kOwn, Shape::kThreads>(own[1], dout, dout_stride, rows, width, args.vectors);
  }
  fetch(0, 0);

  const int first = static_cast<int>(threadIdx.x) / kWarp * kWarpRows, position = tile.begin + first;
  const int left = tile.length - position;
  const int64_t row = tile.row + position;
  const int most = left > 0 ? keys : 0;  // 0: the warp has no queries
  const Seen seen[1] = {seen_up_to([&](int r) { return args.causal ? min(most, position + r + 1) : most; })};
  float log_sum[2], delta[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int r = lane() / 4 + 8 * h;
    log_sum[h] = r < left ? args.log_sum[head * args.rows + row + r] : 0;
    delta[h] = r < left ? args.delta[head * args.rows + row + r] : 0;
  }
  float dqueries[1][kColumns / 8][4];
  clear(dqueries);
  for (int begin = 0, turn = 0; begin < end; begin += kOther, turn ^= 1) {
    fetch(begin + kOther, turn ^ 1);
    wait_for_copies<1>();
    __syncthreads();
    const T *keys_tile = buffer(2 * turn), *values = buffer(2 * turn + 1);
    const auto take = [&]<bool kEdge>() {
      float weights[1][kOther / 8][4], dweights[1][kOther / 8][4];
      row_products<kWidth, kOther>(own[0], first, keys_tile, weights);
      row_products<kWidth, kOther>(own[1], first, values, dweights);
      Dropped dropped{.active = args.dropout.mask.active()};
      if (dropped.active) {
        AttentionDropout dropout = args.dropout;
        dropout.head += head;
        dropped.scale = dropout.mask.scale;
        dropped.kept = dropout.kept_keys<kOther>(begin, [&](int r) { return dropout.row(row + min(r, left - 1)); });
      }
      score_gradients<kEdge, kOther>(
          weights[0], dweights[0], begin, seen[0], args.scale * kLog2E, dropped,
          [&](int, int i) { return log_sum[i / 2]; }, [&](int, int i) { return delta[i / 2]; });
      add_weighted<kEdge, kWidth, kOther, kColumns>(dqueries, dweights, keys_tile, first_column, begin, seen);
    };
    if (seen[0].all(begin, kOther)) {
      take.template operator()<false>();
    } else if (seen[0].any(begin, kOther)) {
      take.template operator()<true>();
    }
    __syncthreads();  // this buffer is filled again in the next round
  }
  wait_for_copies<0>();  // without a key nothing has waited for the queries, whose place is written now
  __syncthreads();
  T* const to = args.to.query(row, group, head % args.queries) + first_column;
  store_rows<T, kWidth, kColumns>(
      dqueries[0], {args.scale, args.scale}, own[0], first, columns, args.vectors,
      [=, stride = args.to.query_row](int r) { return r < left ? to + r * stride : nullptr; });
}

using tuning::kDeltaLanes;
constexpr int kDeltaThreads = tuning::kElementThreads;

// delta[head, row] = rowsum(dout * out). Neighbouring threads have neighbouring rows, whose sums lie side by side.
template <class T>
__global__ void __launch_bounds__(kDeltaThreads)
    attention_deltas(const T* dout, const T* out, int64_t rows, int heads, int width, bool vectors, float* delta) {
  const int64_t row = (int64_t{blockIdx.x} * kDeltaThreads + threadIdx.x) / kDeltaLanes, head = blockIdx.y;
  const int member = static_cast<int>(threadIdx.x) % kDeltaLanes;
  const bool inside = row < rows;
  const T *a = dout + (row * heads + head) * width, *b = out + (row * heads + head) * width;
  float sum = 0;
  if (inside && vectors) {
    for (int c = member * kVector<T>; c < width; c += kDeltaLanes * kVector<T>) {
      float x[kVector<T>], y[kVector<T>];
      load_vector(a + c, x), load_vector(b + c, y);
#pragma unroll
      for (int i = 0; i < kVector<T>; ++i) sum = fmaf(x[i], y[i], sum);
    }
  } else if (inside) {
    for (int c = member; c < width; c += kDeltaLanes) sum = fmaf(to_float(a[c]), to_float(b[c]), sum);
  }
#pragma unroll
  for (int offset = kDeltaLanes / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kAllLanes, sum, offset);
  if (inside && member == 0) delta[head * rows + row] = sum;
}

template <class T>
void launch_backward(const Stream& stream, const AttentionBackward& args, float* delta) {
  const AttentionHeads& heads = args.heads;
  const T *qkv = elements_of<T>(args.qkv), *q = elements_of<T>(args.q), *kv = elements_of<T>(args.kv),
          *dout = elements_of<T>(args.dout), *out = elements_of<T>(args.out);
  const T *dqkv = elements_of<T>(args.dqkv), *dq = elements_of<T>(args.dq), *dkv = elements_of<T>(args.dkv);
  const AttentionBackwardArgs<T> all{.from = HeadRows<const T>(args.qkv, args.q, args.kv, heads),
                                     .to = HeadRows<T>(args.dqkv, args.dq, args.dkv, heads),
                                     .dout = dout,
                                     .log_sum = args.log_sum.template device_data<float>(),
                                     .delta = delta,
                                     .rows = args.out.size(0),
                                     .query_offsets = args.query_offsets->device.template device_data<int32_t>(),
                                     .key_offsets = args.key_offsets->device.template device_data<int32_t>(),
                                     .sequences = static_cast<int>(args.query_offsets->sequences()),
                                     .groups = static_cast<int>(heads.kv_heads),
                                     .queries = static_cast<int>(heads.queries),
                                     .causal = args.causal,
                                     .vectors = vectorised_heads<T>(heads, qkv, q, kv, dout, out, dqkv, dq, dkv),
                                     .scale = attention_scale(args.scale),
                                     .dropout = {DropoutMask(args.dropout), static_cast<uint32_t>(args.first_head)}};
  const int64_t keys = args.key_offsets->rows(), wide = heads.heads();
  if (all.rows > 0) {
    const dim3 grid(blocks_for(all.rows * kDeltaLanes, kDeltaThreads), static_cast<unsigned>(wide));
    launch(stream, attention_deltas<T>, grid, kDeltaThreads, 0, dout, out, all.rows, static_cast<int>(wide),
           all.from.width, all.vectors, delta);
  }
  with_head_width(heads.head_dim, [&]<int kWidth>() {
    const auto start = [&]<class Shape>(Shape, auto* kernel, int64_t rows, int64_t heads) {
      const auto tiles = static_cast<unsigned>(rows == 0 ? 0 : tiles_of(rows, all.sequences, Shape::kOwn));
      const dim3 grid(tiles, static_cast<unsigned>(heads), Shape::kParts);
      launch(stream, kernel, grid, Shape::kThreads, Shape::kSharedBytes, all);
    };
    start(KeyShape<T, kWidth>(), attention_key_gradients<T, kWidth>, keys, heads.kv_heads);
    start(QueryShape<T, kWidth>(), attention_query_gradients<T, kWidth>, all.rows, wide);
  });
}

float* take_delta(Scratch& scratch, const AttentionBackward& args) {
  return scratch.take<float>(args.heads.heads() * args.out.size(0));
}

}  // namespace

template <>
size_t CudaBackend::workspace(const AttentionBackward& args) const {
  const size_t own = scratch_bytes([&](Scratch& scratch) { take_delta(scratch, args); });
  return std::max(own, library_workspace(args));  // the library may refuse when it runs
}

template <>
void CudaBackend::run(const AttentionBackward& args, Scratch scratch) {
  if (attention().run(args, scratch)) return;
  with_device_type(args.out.dtype(), [&]<class T>() { launch_backward<T>(stream(), args, take_delta(scratch, args)); });
}

}  // namespace weft::cuda
