#include "kernels/attention.h"
#include "kernels/cuda/attention/rows.h"
#include "kernels/cuda/attention/softmax.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cudnn/attention.h"
#include "kernels/cuda/launch.h"

namespace weft::cuda {
namespace {

// Flash attention (Dao et al. 2022; Dao 2023): a block takes a tile of queries of one sequence and head against the
// sequence's keys, tile by tile, of which the next travels while this one is worked on.
template <class T>
struct Forward {
  HeadRows<const T> from;
  const int32_t *query_offsets, *key_offsets;
  int sequences, queries;  // query heads of a group
  bool causal, vectors;
  float scale;
  AttentionDropout dropout;  // head 0's
  T* out;
  float* log_sum;
  int64_t rows;
};

template <class T, int kWidth>
__global__ void __launch_bounds__(AttentionShape<T, kWidth>::kThreads, AttentionShape<T, kWidth>::kBlocks)
    attend(const Forward<T> args) {
  using Shape = AttentionShape<T, kWidth>;
  extern __shared__ __align__(16) std::byte shared[];
  T* const queries = reinterpret_cast<T*>(shared);
  const auto buffer = [&](int i) { return reinterpret_cast<T*>(shared + Shape::kQueryBytes + i * Shape::kTileBytes); };
  // The last tiles of a causal sequence see the most keys: they go first.
  const SequenceTile tile(args.query_offsets, args.sequences, gridDim.x - 1 - blockIdx.x, Shape::kRows);
  if (tile.empty()) return;
  const int head = static_cast<int>(blockIdx.y), group = head / args.queries, width = args.from.width;
  const int64_t key_row = args.key_offsets[tile.sequence];
  const int keys = static_cast<int>(args.key_offsets[tile.sequence + 1] - key_row);
  const int rows = min(Shape::kRows, tile.length - tile.begin);
  const int end = args.causal ? min(keys, tile.begin + rows) : keys;

  const auto fetch = [&](int begin, int turn) {
    if (begin < end) {
      const T* from = args.from.key(key_row + begin, group);
      const int64_t stride = args.from.key_row;
      const int count = min(Shape::kKeys, keys - begin);
      copy_tile<T, kWidth, Shape::kKeys, Shape::kThreads>(buffer(2 * turn), from, stride, count, width, args.vectors);
      copy_tile<T, kWidth, Shape::kKeys, Shape::kThreads>(buffer(2 * turn + 1), from + width, stride, count, width,
                                                          args.vectors);
    }
    commit_copies();
  };
  {
    const T* from = args.from.query(tile.row + tile.begin, group, head % args.queries);
    const int64_t stride = args.from.query_row;
    copy_tile<T, kWidth, Shape::kRows, Shape::kThreads>(queries, from, stride, rows, width, args.vectors);
  }
  fetch(0, 0);

  const int first = static_cast<int>(threadIdx.x) / kWarp * kWarpRows, position = tile.begin + first;
  const Seen seen = seen_up_to([&](int r) { return args.causal ? min(keys, position + r + 1) : keys; });
  const float base = args.scale * kLog2E;
  RunningRows<kWidth> state;
  state.clear();
  for (int begin = 0, turn = 0; begin < end; begin += Shape::kKeys, turn ^= 1) {
    fetch(begin + Shape::kKeys, turn ^ 1);
    wait_for_copies<1>();
    __syncthreads();
    const auto drop = [&](float(&weights)[Shape::kKeys / 8][4]) {
      if (!args.dropout.mask.active()) return;
      AttentionDropout dropout = args.dropout;
      dropout.head += head;
      const int64_t last = tile.row + tile.length - 1;
      const uint32_t kept =
          dropout.kept_keys<Shape::kKeys>(begin, [&](int r) { return min(tile.row + position + r, last); });
#pragma unroll
      for (int i = 0; i < Shape::kKeys / 2; ++i) {
        float& weight = weights[i / 4][i % 4];
        weight = kept >> i & 1u ? weight * dropout.mask.scale : 0;
      }
    };
    const auto attend_tile = [&]<bool kEdge>() {
      state.template attend<kEdge, Shape::kKeys>(queries, first, buffer(2 * turn), buffer(2 * turn + 1), begin, seen,
                                                 base, drop);
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

  const int64_t heads = gridDim.y, row = tile.row + position;
  const int left = tile.length - position;
  const float factor[2] = {inverse_of(state.sum[0]), inverse_of(state.sum[1])};
  store_rows<T, kWidth, kWidth>(state.sums, factor, queries, width, args.vectors, [&](int r) {
    return r < left ? args.out + ((row + r) * heads + head) * width : nullptr;
  });
  if (lane() % 4 != 0) return;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int r = lane() / 4 + 8 * h;
    if (r < left) args.log_sum[head * args.rows + row + r] = state.max[h] * args.scale + logf(state.sum[h]);
  }
}

template <class T>
void forward(const Stream& stream, const AttentionForward& args) {
  const AttentionHeads& heads = args.heads;
  const T *qkv = elements_of<T>(args.qkv), *q = elements_of<T>(args.q), *kv = elements_of<T>(args.kv),
          *out = elements_of<T>(args.out);
  const Forward<T> all{.from = HeadRows<const T>(args.qkv, args.q, args.kv, heads),
                       .query_offsets = args.query_offsets->device.template device_data<int32_t>(),
                       .key_offsets = args.key_offsets->device.template device_data<int32_t>(),
                       .sequences = static_cast<int>(args.query_offsets->sequences()),
                       .queries = static_cast<int>(heads.queries),
                       .causal = args.causal,
                       .vectors = vectorised_heads<T>(heads, qkv, q, kv, out),
                       .scale = attention_scale(args.scale),
                       .dropout = {DropoutMask(args.dropout), static_cast<uint32_t>(args.first_head)},
                       .out = elements_of<T>(args.out),
                       .log_sum = args.log_sum.template device_data<float>(),
                       .rows = args.out.size(0)};
  with_head_width(heads.head_dim, [&]<int kWidth>() {
    using Shape = AttentionShape<T, kWidth>;
    if (all.rows == 0) return;
    const dim3 grid(static_cast<unsigned>(tiles_of(all.rows, all.sequences, Shape::kRows)),
                    static_cast<unsigned>(heads.heads()));
    launch(stream, attend<T, kWidth>, grid, Shape::kThreads, Shape::kSharedBytes, all);
  });
}

}  // namespace

size_t CudaBackend::workspace(const AttentionForward& args) const { return library_attention_->workspace(args); }

void CudaBackend::run(const AttentionForward& args, Scratch scratch) {
  if (library_attention_->run(args, scratch)) return;
  with_device_type(args.out.dtype(), [&]<class T>() { forward<T>(stream_, args); });
}

}  // namespace weft::cuda
