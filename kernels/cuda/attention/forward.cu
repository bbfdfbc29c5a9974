// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/attention/rows.h"
#include "kernels/cuda/attention/softmax.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cudnn/attention.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/ops/attention.h"

namespace weft::cuda {
namespace {

// Flash attention (Dao et al. 2022; Dao 2023): a block takes a tile of queries of one sequence and head against the
// sequence's keys, tile by tile; the next tile is copied while this one is worked on.
template <class T>
struct AttentionForwardArgs {
  HeadRows<const T> from;
  const int32_t *query_offsets, *key_offsets;
  int sequences, queries;  // queries: query heads of a group
  formulas::Band band;
  bool vectors;
  float scale;
  AttentionDropout dropout;  // the dropout of head 0
  T* out;
  float* log_sum;
  int64_t rows;
};

template <class T, int kWidth, int kMostWarps>
__global__ void __launch_bounds__(AttentionShape<T, kWidth, kMostWarps>::kThreads,
                                  AttentionShape<T, kWidth, kMostWarps>::kBlocks)
    attention_forward(const AttentionForwardArgs<T> args) {
  using Shape = AttentionShape<T, kWidth, kMostWarps>;
  extern __shared__ __align__(16) std::byte shared[];
  const AttentionTiles<Shape> tiles{shared, static_cast<int>(blockIdx.z) * Shape::kColumns};
  // The last tiles of a causal sequence see the most keys: they go first.
  const SequenceTile tile(args.query_offsets, args.sequences, gridDim.x - 1 - blockIdx.x, Shape::kRows);
  if (tile.empty()) return;
  const int head = static_cast<int>(blockIdx.y), group = head / args.queries, width = args.from.width;
  const int64_t key_row = args.key_offsets[tile.sequence];
  const int keys = static_cast<int>(args.key_offsets[tile.sequence + 1] - key_row);
  const int rows = min(Shape::kRows, tile.length - tile.begin);
  const int start = args.band.first(tile.begin) / Shape::kKeys * Shape::kKeys,
            end = args.band.end(tile.begin + rows - 1, keys);

  const auto fetch = [&](int begin, int turn) {
    if (begin < end) {
      tiles.fetch(turn, args.from.key(key_row + begin, group), args.from.key_row, min(Shape::kKeys, keys - begin),
                  width, args.vectors);
    }
    commit_copies();
  };
  {
    const T* from = args.from.query(tile.row + tile.begin, group, head % args.queries);
    const int64_t stride = args.from.query_row;
    copy_tile<T, kWidth, Shape::kRows, Shape::kThreads>(tiles.queries(), from, stride, rows, width, args.vectors);
  }
  fetch(start, 0);
  AttentionDropout dropout = args.dropout;
  dropout.head += head;
  auto* const dropout_rows = reinterpret_cast<AttentionDropout::Row*>(tiles.end());  // read once, here
  for (int r = static_cast<int>(threadIdx.x); dropout.mask.active() && r < Shape::kRows; r += Shape::kThreads) {
    dropout_rows[r] = dropout.row(tile.row + tile.begin + min(r, rows - 1));
  }

  const int first = static_cast<int>(threadIdx.x) / kWarp * kWarpRows, position = tile.begin + first;
  const int most = position < tile.length ? keys : 0;  // 0: the warp has no queries
  const Seen seen = seen_between([&](int r) { return args.band.first(position + r); },
                                 [&](int r) { return args.band.end(position + r, most); });
  const float base = args.scale * kLog2E;
  RunningRows<Shape::kColumns> state;
  state.clear();
  for (int begin = start, turn = 0; begin < end; begin += Shape::kKeys, turn ^= 1) {
    fetch(begin + Shape::kKeys, turn ^ 1);
    wait_for_copies<1>();
    __syncthreads();
    const auto drop = [&](float(&weights)[Shape::kKeys / 8][4]) {
      if (!dropout.mask.active()) return;
      dropout.apply<Shape::kKeys>(weights, begin, [&](int r) { return dropout_rows[first + r]; });
    };
    const auto attend_tile = [&]<bool kEdge>() {
      state.template attend<kEdge>(tiles, turn, first, begin, seen, base, drop);
    };
    if (seen.all(begin, Shape::kKeys)) {
      attend_tile.template operator()<false>();
    } else if (seen.any(begin, Shape::kKeys)) {
      attend_tile.template operator()<true>();
    }
    __syncthreads();  // this buffer is filled again in the next round
  }
  state.finish();
  wait_for_copies<0>();  // without a key nothing has waited for the queries, whose place is written now
  __syncthreads();

  const int64_t heads = gridDim.y;
  const int columns = min(Shape::kColumns, width - tiles.first_column);
  const int64_t row = tile.row + position;
  const int left = tile.length - position;
  const float factor[2] = {formulas::inverse_sum(state.sum[0]), formulas::inverse_sum(state.sum[1])};
  store_rows<T, kWidth, Shape::kColumns>(state.sums, factor, tiles.queries(), first, columns, args.vectors, [&](int r) {
    return r < left ? args.out + ((row + r) * heads + head) * width + tiles.first_column : nullptr;
  });
  if (lane() % 4 != 0 || blockIdx.z != 0) return;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int r = lane() / 4 + 8 * h;
    if (r < left) args.log_sum[head * args.rows + row + r] = state.max[h] * args.scale + logf(state.sum[h]);
  }
}

template <class T>
void launch_forward(const Stream& stream, const AttentionForward& args) {
  const AttentionHeads& heads = args.heads;
  const T *qkv = elements_of<T>(args.qkv), *q = elements_of<T>(args.q), *kv = elements_of<T>(args.kv),
          *out = elements_of<T>(args.out);
  const AttentionForwardArgs<T> all{.from = HeadRows<const T>(args.qkv, args.q, args.kv, heads),
                                    .query_offsets = args.query_offsets->device.template device_data<int32_t>(),
                                    .key_offsets = args.key_offsets->device.template device_data<int32_t>(),
                                    .sequences = static_cast<int>(args.query_offsets->sequences()),
                                    .queries = static_cast<int>(heads.queries),
                                    .band = formulas::Band::of(args.causal, args.window),
                                    .vectors = vectorised_heads<T>(heads, qkv, q, kv, out),
                                    .scale = attention_scale(args.scale),
                                    .dropout = {DropoutMask(args.dropout), static_cast<uint32_t>(args.first_head)},
                                    .out = elements_of<T>(args.out),
                                    .log_sum = args.log_sum.template device_data<float>(),
                                    .rows = args.out.size(0)};
  with_head_width(heads.head_dim, [&]<int kWidth>() {
    if (all.rows == 0) return;
    with_warps<T, kWidth>(all.rows, all.sequences, [&]<int kMostWarps>() {
      using Shape = AttentionShape<T, kWidth, kMostWarps>;
      const dim3 grid(static_cast<unsigned>(tiles_of(all.rows, all.sequences, Shape::kRows)),
                      static_cast<unsigned>(heads.heads()), Shape::kParts);
      const size_t rows = all.dropout.mask.active() ? Shape::kRows * sizeof(AttentionDropout::Row) : 0;
      launch(stream, attention_forward<T, kWidth, kMostWarps>, grid, Shape::kThreads, Shape::kSharedBytes + rows, all);
    });
  });
}

}  // namespace

template <>
size_t CudaBackend::workspace(const AttentionForward& args) const {
  return library_workspace(args);
}

template <>
void CudaBackend::run(const AttentionForward& args, Scratch scratch) {
  if (attention().run(args, scratch)) return;
  with_device_type(args.out.dtype(), [&]<class T>() { launch_forward<T>(stream(), args); });
}

}  // namespace weft::cuda
