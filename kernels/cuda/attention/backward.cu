// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cuda/attention/gradients.cuh"
#include "kernels/cuda/attention/softmax.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cudnn/attention.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/tuning.h"
#include "kernels/ops/attention.h"

namespace weft::cuda {
namespace {

// One kernel makes dQ, a block for each tile of queries, and leaves their deltas to the next, which makes dK and dV, a
// block for each tile of keys, which takes all queries of the group in turn. So each sum has one owner and one order,
// at seven products instead of five.
template <class T, int kWidth, int kMostWarps>
using KeyShape = AttentionGradientShape<T, kWidth, 2, kMostWarps>;
template <class T, int kWidth, int kMostWarps>
using QueryShape = AttentionGradientShape<T, kWidth, 1, kMostWarps>;

template <class T, int kWidth, int kMostWarps>
__global__ void __launch_bounds__(KeyShape<T, kWidth, kMostWarps>::kThreads, KeyShape<T, kWidth, kMostWarps>::kBlocks)
    attention_key_gradients(const AttentionBackwardArgs<T> args) {
  using Shape = KeyShape<T, kWidth, kMostWarps>;
  constexpr int kOther = Shape::kOther, kStep = Shape::kStep, kAtOnce = Shape::kAtOnce, kColumns = Shape::kColumns;
  extern __shared__ __align__(16) std::byte shared[];
  T* const own[2] = {reinterpret_cast<T*>(shared), reinterpret_cast<T*>(shared + Shape::kOwnBytes)};  // keys, values
  const auto buffer = [&](int i) {
    return reinterpret_cast<T*>(shared + 2 * Shape::kOwnBytes + i * Shape::kOtherBytes);
  };
  auto* const numbers = reinterpret_cast<QueryNumbers<kOther>*>(buffer(4));

  __shared__ TileOfBlock tile;
  if (!tile.find(blockIdx.x, args.key_offsets, args.query_offsets, args.sequences, Shape::kOwn)) return;
  const int group = static_cast<int>(blockIdx.y), width = args.from.width;
  const int first_column = Shape::kParts == 1 ? 0 : static_cast<int>(blockIdx.z) * kColumns,
            columns = min(kColumns, width - first_column);
  if (columns <= 0) return;
  // Where the first query tile begins that sees a key, and where the queries end that do.
  const auto start = [&] { return args.band.flipped().first(tile.begin) / kOther * kOther; };
  const auto stop = [&] {
    return args.band.flipped().end(min(tile.begin + Shape::kOwn, tile.length) - 1, tile.others);
  };

  // A tile of queries: which query head of the group, and where it begins. Each head's tiles go one after the other.
  struct QueryTile {
    int query, begin;
  };
  const auto after = [&](const QueryTile& t) {
    return t.begin + kOther < stop() ? QueryTile{t.query, t.begin + kOther} : QueryTile{t.query + 1, start()};
  };
  const auto fetch = [&](const QueryTile& t, int turn) {
    if (t.query < args.queries) {
      const int begin = t.begin, count = min(kOther, tile.others - begin), head = group * args.queries + t.query;
      const int64_t row = int64_t{tile.other_row} + begin;
      const T* from = args.from.query(row, group, t.query);
      const T* dout = args.dout_row(row, head);
      const int64_t stride = args.from.query_row, dout_stride = args.dout_row(1, 0) - args.dout;
      copy_tile<T, kWidth, kOther, Shape::kThreads>(buffer(2 * turn), from, stride, count, width, args.vectors);
      copy_tile<T, kWidth, kOther, Shape::kThreads>(buffer(2 * turn + 1), dout, dout_stride, count, width,
                                                    args.vectors);
      if (const int r = static_cast<int>(threadIdx.x); r < kOther) {
        numbers[turn].fetch(args, r, head, row + (r < count ? r : 0), r < count);
      }
    }
    commit_copies();
  };
#pragma unroll
  for (int which = 0; which < 2; ++which) {
    const T* from = args.from.key(int64_t{tile.row} + tile.begin, group) + which * width;
    const int64_t stride = args.from.key_row;
    copy_tile<T, kWidth, Shape::kOwn, Shape::kThreads>(own[which], from, stride,
                                                       min(Shape::kOwn, tile.length - tile.begin), width, args.vectors);
  }
  QueryTile next{stop() > start() ? 0 : args.queries, start()};
  fetch(next, 0);

  const int first = static_cast<int>(threadIdx.x) / kWarp * kWarpRows;
  const auto position = [&] { return tile.begin + first; };
  float dkeys[kColumns / 8][4], dvalues[kColumns / 8][4];
  clear(dkeys), clear(dvalues);
  for (int turn = 0; next.query < args.queries; turn ^= 1) {
    const QueryTile at = next;
    next = after(at);
    fetch(next, turn ^ 1);
    wait_for_copies<1>();
    __syncthreads();
    const int begin = at.begin;
    const T *queries = buffer(2 * turn), *dout = buffer(2 * turn + 1);
    const QueryNumbers<kOther>& number = numbers[turn];
    const int end = position() < tile.length ? tile.others : 0;  // 0: the warp has no keys
    const SeenInBand seen{position(), end, args.band.flipped()};
    const auto take = [&]<bool kEdge>() {
      float weights[kOther / 8][4];
      row_products<kWidth, kOther, kAtOnce>(own[0], first, queries, weights);
#pragma unroll
      for (int from = 0; from < kOther; from += kStep) {
        if (kEdge && !seen.any(begin + from, kStep)) continue;
        float part[kStep / 8][4], dpart[kStep / 8][4];
        take_columns(weights, from / 8, part);
        row_products<kWidth, kStep, kAtOnce>(own[1], first, dout + from * kWidth, dpart);
        Dropped dropped{.active = args.dropout.mask.active()};
        if (dropped.active) {
          AttentionDropout dropout = args.dropout;
          dropout.head += group * args.queries + at.query;
          dropped.scale = dropout.mask.scale;
          dropped.kept = dropout.kept_queries<kStep>(position(), [&](int c) {
            return AttentionDropout::Row{number.position[from + c], number.sequence[from + c]};
          });
        }
        score_gradients<kEdge>(
            part, dpart, begin + from, seen, args.scale * kLog2E, dropped,
            [&](int j, int i) { return number.log_sum[from + 8 * j + lane() % 4 * 2 + i % 2]; },
            [&](int j, int i) { return number.delta[from + 8 * j + lane() % 4 * 2 + i % 2]; });
        add_weighted<kEdge, kWidth, kStep, kColumns>(dvalues, part, dout + from * kWidth, first_column, begin + from,
                                                     seen);
        add_weighted<kEdge, kWidth, kStep, kColumns>(dkeys, dpart, queries + from * kWidth, first_column, begin + from,
                                                     seen);
      }
    };
    if (seen.all(begin, kOther)) {
      take.template operator()<false>();
    } else if (seen.any(begin, kOther)) {
      take.template operator()<true>();
    }
    __syncthreads();  // this buffer is filled again in the next round
  }
  wait_for_copies<0>();  // without a query nothing has waited for the keys and values, whose place is written now
  __syncthreads();

  const int left = tile.length - position();
  T* const to = args.to.key(int64_t{tile.row} + position(), group) + first_column;
  const auto row = [&](T* at) {
    return [=, stride = args.to.key_row](int r) { return r < left ? at + r * stride : nullptr; };
  };
  store_rows<T, kWidth, kColumns>(dkeys, {args.scale, args.scale}, own[0], first, columns, args.vectors, row(to));
  store_rows<T, kWidth, kColumns>(dvalues, {1, 1}, own[1], first, columns, args.vectors, row(to + width));
}

// The sum of dout * out over a row of one head, by the four neighbouring lanes that share it: a vector each, in turn.
template <class T>
__device__ float row_delta(const T* dout, const T* out, int width, bool vectors) {
  constexpr int N = kVector<T>, kLanes = 4;
  const int member = lane() % kLanes;
  float sum = 0;
  if (vectors) {
    for (int c = member * N; c < width; c += kLanes * N) {
      float x[N], y[N];
      load_vector(dout + c, x), load_vector(out + c, y);
#pragma unroll
      for (int i = 0; i < N; ++i) sum = fmaf(x[i], y[i], sum);
    }
  } else {
    for (int c = member; c < width; c += kLanes) sum = fmaf(to_float(dout[c]), to_float(out[c]), sum);
  }
  return row_sum(sum);
}

template <class T, int kWidth, int kMostWarps>
__global__ void __launch_bounds__(QueryShape<T, kWidth, kMostWarps>::kThreads,
                                  QueryShape<T, kWidth, kMostWarps>::kBlocks)
    attention_query_gradients(const AttentionBackwardArgs<T> args) {
  using Shape = QueryShape<T, kWidth, kMostWarps>;
  constexpr int kOther = Shape::kOther, kColumns = Shape::kColumns;
  extern __shared__ __align__(16) std::byte shared[];
  T* const own[2] = {reinterpret_cast<T*>(shared), reinterpret_cast<T*>(shared + Shape::kOwnBytes)};  // queries, dout
  const auto buffer = [&](int i) {
    return reinterpret_cast<T*>(shared + 2 * Shape::kOwnBytes + i * Shape::kOtherBytes);
  };

  const auto head = [] { return static_cast<int>(blockIdx.y); };
  __shared__ TileOfBlock tile;
  __shared__ int group;
  if (threadIdx.x == 0) group = head() / args.queries;
  // The last tiles of a causal sequence see the most keys: they go first.
  if (!tile.find(gridDim.x - 1 - blockIdx.x, args.query_offsets, args.key_offsets, args.sequences, Shape::kOwn)) return;
  const int width = args.from.width;
  const int first_column = Shape::kParts == 1 ? 0 : static_cast<int>(blockIdx.z) * kColumns,
            columns = min(kColumns, width - first_column);
  const auto rows = [&] { return min(Shape::kOwn, tile.length - tile.begin); };
  const auto start = [&] { return args.band.first(tile.begin) / kOther * kOther; };
  const auto end = [&] { return args.band.end(tile.begin + rows() - 1, tile.others); };

  const auto fetch = [&](int begin, int turn) {
    if (begin < end()) {
      const T* from = args.from.key(int64_t{tile.other_row} + begin, group);
      const int64_t stride = args.from.key_row;
      const int count = min(kOther, tile.others - begin);
      copy_tile<T, kWidth, kOther, Shape::kThreads>(buffer(2 * turn), from, stride, count, width, args.vectors);
      copy_tile<T, kWidth, kOther, Shape::kThreads>(buffer(2 * turn + 1), from + width, stride, count, width,
                                                    args.vectors);
    }
    commit_copies();
  };
  {
    const int64_t row = int64_t{tile.row} + tile.begin;
    const T *from = args.from.query(row, group, head() % args.queries), *dout = args.dout_row(row, head());
    const int64_t stride = args.from.query_row, dout_stride = args.dout_row(1, 0) - args.dout;
    copy_tile<T, kWidth, Shape::kOwn, Shape::kThreads>(own[0], from, stride, rows(), width, args.vectors);
    copy_tile<T, kWidth, Shape::kOwn, Shape::kThreads>(own[1], dout, dout_stride, rows(), width, args.vectors);
  }
  fetch(start(), 0);

  const int first = static_cast<int>(threadIdx.x) / kWarp * kWarpRows;
  const auto position = [&] { return tile.begin + first; };
  float log_sum[2], delta[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int r = position() + lane() / 4 + 8 * h;
    const bool inside = r < tile.length;
    const int64_t row = int64_t{tile.row} + r, at = head() * args.rows + row;
    log_sum[h] = inside ? args.log_sum[at] : 0;
    delta[h] = row_delta(args.dout_row(row, head()), args.out_row(row, head()), inside ? width : 0, args.vectors);
    if (inside && lane() % 4 == 0 && blockIdx.z == 0) args.delta[at] = delta[h];
  }
  float dqueries[kColumns / 8][4];
  clear(dqueries);
  for (int begin = start(), turn = 0; begin < end(); begin += kOther, turn ^= 1) {
    fetch(begin + kOther, turn ^ 1);
    wait_for_copies<1>();
    __syncthreads();
    const T *keys_tile = buffer(2 * turn), *values = buffer(2 * turn + 1);
    const int seen_keys = position() < tile.length ? tile.others : 0;  // 0: the warp has no queries
    const SeenInBand seen{position(), seen_keys, args.band};
    const auto take = [&]<bool kEdge>() {
      float weights[kOther / 8][4], dweights[kOther / 8][4];
      row_products<kWidth, kOther, Shape::kAtOnce>(own[0], first, keys_tile, weights);
      row_products<kWidth, kOther, Shape::kAtOnce>(own[1], first, values, dweights);
      Dropped dropped{.active = args.dropout.mask.active()};
      if (dropped.active) {
        AttentionDropout dropout = args.dropout;
        dropout.head += head();
        dropped.scale = dropout.mask.scale;
        dropped.kept = dropout.kept_keys<kOther>(
            begin, [&](int r) { return dropout.row(tile.row + min(position() + r, tile.length - 1)); });
      }
      score_gradients<kEdge>(
          weights, dweights, begin, seen, args.scale * kLog2E, dropped, [&](int, int i) { return log_sum[i / 2]; },
          [&](int, int i) { return delta[i / 2]; });
      add_weighted<kEdge, kWidth, kOther, kColumns>(dqueries, dweights, keys_tile, first_column, begin, seen);
    };
    if (seen.all(begin, kOther)) {
      take.template operator()<false>();
    } else if (seen.any(begin, kOther)) {
      take.template operator()<true>();
    }
    __syncthreads();  // this buffer is filled again in the next round
  }
  wait_for_copies<0>();  // without a key nothing has waited for the queries, whose place is written now
  __syncthreads();
  const int left = tile.length - position();
  T* const to = args.to.query(int64_t{tile.row} + position(), group, head() % args.queries) + first_column;
  store_rows<T, kWidth, kColumns>(
      dqueries, {args.scale, args.scale}, own[0], first, columns, args.vectors,
      [=, stride = args.to.query_row](int r) { return r < left ? to + r * stride : nullptr; });
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
                                     .out = out,
                                     .log_sum = args.log_sum.template device_data<float>(),
                                     .delta = delta,
                                     .rows = args.out.size(0),
                                     .query_offsets = args.query_offsets->device.template device_data<int32_t>(),
                                     .key_offsets = args.key_offsets->device.template device_data<int32_t>(),
                                     .sequences = static_cast<int>(args.query_offsets->sequences()),
                                     .groups = static_cast<int>(heads.kv_heads),
                                     .queries = static_cast<int>(heads.queries),
                                     .band = formulas::Band::of(args.causal, args.window),
                                     .vectors = vectorised_heads<T>(heads, qkv, q, kv, dout, out, dqkv, dq, dkv),
                                     .scale = attention_scale(args.scale),
                                     .dropout = {DropoutMask(args.dropout), static_cast<uint32_t>(args.first_head)}};
  const int64_t keys = args.key_offsets->rows(), wide = heads.heads();
  with_head_width(heads.head_dim, [&]<int kWidth>() {
    const auto start = [&]<class Shape>(Shape, auto* kernel, int64_t rows, int64_t heads) {
      const auto tiles = static_cast<unsigned>(rows == 0 ? 0 : tiles_of(rows, all.sequences, Shape::kOwn));
      const dim3 grid(tiles, static_cast<unsigned>(heads), Shape::kParts);
      launch(stream, kernel, grid, Shape::kThreads, Shape::kSharedBytes, all);
    };
    with_warps<T, kWidth>(all.rows, all.sequences, [&]<int kMostWarps>() {
      start(QueryShape<T, kWidth, kMostWarps>(), attention_query_gradients<T, kWidth, kMostWarps>, all.rows, wide);
    });
    with_warps<T, kWidth>(keys, all.sequences, [&]<int kMostWarps>() {
      start(KeyShape<T, kWidth, kMostWarps>(), attention_key_gradients<T, kWidth, kMostWarps>, keys, heads.kv_heads);
    });
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
