// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <optional>

#include "kernels/cuda/attention/rows.h"
#include "kernels/cuda/attention/softmax.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/pieces.cuh"
#include "kernels/cuda/runtime/devices.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/tuning.h"
#include "kernels/ops/attention.h"

namespace weft::cuda {
namespace {

// A row's keys are taken in chunks of positions, each by itself, and the chunks are then joined in their order. So a
// row's bits follow from its own past alone. If there are few rows, as in decoding, each chunk has a block of its own
// and a second kernel joins them; if there are many, a block takes all chunks of its rows and joins them as they come.
constexpr int kChunk = tuning::kCacheChunk;
static_assert(kRingBlock % kChunk == 0, "a chunk lies in one piece in a ring");

// The rows of a tile are those of a sequence with all query heads of a group: row m is row m / queries of the sequence,
// query head m % queries.
template <class T>
struct CachedAttentionArgs {
  HeadRows<const T> from;
  HeadRows<T> cache;
  int64_t capacity;
  const int32_t *query_offsets, *slots, *past;
  int sequences, queries, groups;
  formulas::Band band;
  bool self, vectors;
  float scale;
  T* out;
  int64_t rows;
  float* parts;    // [chunks, rows, heads, part_row]: sums of the chunks, if they are joined later; else null
  float2* ranges;  // [chunks, rows, heads]: maximum and sum
  int part_row;
  float* joined;  // [blocks, JoinedSoFar]: the joined parts, on a device without shared memory for them; else null

  // Row `row` of a sequence with `before` positions sees the positions first .. visible - 1. The sequence's chunks are
  // counted from the first that its first row sees.
  __device__ int first(int before, int row) const { return band.first(before + row); }
  __device__ int visible(int before, int row) const { return before + (self ? row + 1 : 0); }
  __device__ int first_chunk(int before) const { return first(before, 0) / kChunk; }
  __device__ int64_t place(int64_t row, int group, int query) const { return (row * groups + group) * queries + query; }
};

// The parts of a thread's rows that are joined so far. They lie in shared memory, since registers are scarce, or where
// a block has too little of it in the device's memory; no other thread reads them.
template <int kColumns, int kThreads>
struct JoinedSoFar {
  static constexpr int kFloats = kColumns / 2 + 4;
  static constexpr size_t kBytes = kFloats * kThreads * sizeof(float);
  float* at;

  __device__ float& operator[](int i) const { return at[i * kThreads + static_cast<int>(threadIdx.x)]; }
  __device__ void save(const RunningRows<kColumns>& rows) const {
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) (*this)[i] = rows.sums[i / 4][i % 4];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      (*this)[kColumns / 2 + h] = rows.max[h], (*this)[kColumns / 2 + 2 + h] = rows.sum[h];
    }
  }
  // rows = the saved rows, joined with rows if the row sees their keys.
  __device__ void join(RunningRows<kColumns>& rows, const bool (&seen)[2], float base) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float max = (*this)[kColumns / 2 + h], sum = (*this)[kColumns / 2 + 2 + h];
      const Joined joined(max, sum, rows.max[h], rows.sum[h], base);
#pragma unroll
      for (int c = 0; c < kColumns / 8; ++c) {
#pragma unroll
        for (int i = 2 * h; i < 2 * h + 2; ++i) {
          const float before = (*this)[4 * c + i];
          rows.sums[c][i] = seen[h] ? joined(before, rows.sums[c][i]) : before;
        }
      }
      rows.max[h] = seen[h] ? joined.max : max;
      rows.sum[h] = seen[h] ? joined.sum : sum;
    }
  }
};

// Writes the columns of a warp's rows as they lie in the registers; row r is left out if to(r) is null.
template <class T, int kColumns, class RowPointer>
__device__ void store_parts(const RunningRows<kColumns>& rows, int columns, RowPointer to) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float* row = to(lane() / 4 + 8 * h);
    if (row == nullptr) continue;
#pragma unroll
    for (int c = 0; c < kColumns / 8; ++c) {
      if (const int column = pair_column<T>(c); column < columns) {
        *reinterpret_cast<float2*>(row + column) = make_float2(rows.sums[c][2 * h], rows.sums[c][2 * h + 1]);
      }
    }
  }
}

template <class T, int kWidth>
using JoinedOf = JoinedSoFar<AttentionShape<T, kWidth>::kColumns, AttentionShape<T, kWidth>::kThreads>;
template <class T, int kWidth>
constexpr size_t bytes_to_join() {
  return AttentionShape<T, kWidth>::kSharedBytes + JoinedOf<T, kWidth>::kBytes;
}

template <class T, int kWidth, bool kJoinsInShared>
__global__ void __launch_bounds__(AttentionShape<T, kWidth>::kThreads, AttentionShape<T, kWidth>::kBlocks)
    cached_attention(const CachedAttentionArgs<T> args) {
  using Shape = AttentionShape<T, kWidth>;
  static_assert(kChunk % Shape::kKeys == 0);
  extern __shared__ __align__(16) std::byte shared[];
  const int part_of_head = static_cast<int>(blockIdx.y) % Shape::kParts;
  const AttentionTiles<Shape> tiles{shared, part_of_head * Shape::kColumns};
  using Joined = JoinedOf<T, kWidth>;
  const int64_t block = blockIdx.x * int64_t{gridDim.y} + blockIdx.y;
  const Joined so_far{kJoinsInShared ? reinterpret_cast<float*>(tiles.end())
                                     : args.joined + block * Joined::kFloats * Shape::kThreads};

  const SequenceTile tile(args.query_offsets, args.sequences, blockIdx.x, Shape::kRows, args.queries);
  if (tile.empty()) return;
  const int group = static_cast<int>(blockIdx.y) / Shape::kParts, width = args.from.width;
  const int rows = min(Shape::kRows, tile.length - tile.begin),
            columns = min(Shape::kColumns, width - tiles.first_column);
  const auto row_of = [&](int m) { return min(m, tile.length - 1) / args.queries; };
  const int before = args.past[tile.sequence];
  const auto first_seen = [&](int m) { return args.first(before, row_of(m)); };
  const auto visible = [&](int m) { return args.visible(before, row_of(m)); };
  const int keys = visible(tile.begin + rows - 1);
  const bool apart = args.parts != nullptr;
  const int start_chunk =
      apart ? args.first_chunk(before) + static_cast<int>(blockIdx.z) : first_seen(tile.begin) / kChunk;
  const int start = start_chunk * kChunk, end = apart ? min(keys, start + kChunk) : keys;
  if (blockIdx.z > 0 && start >= end) return;

  const auto fetch = [&](int begin, int turn) {
    if (begin < end) {
      const int64_t at = args.slots[tile.sequence] * args.capacity + begin % static_cast<int>(args.capacity);
      tiles.fetch(turn, args.cache.key(at, group), args.cache.key_row, min(Shape::kKeys, end - begin), width,
                  args.vectors);
    }
    commit_copies();
  };
  for (int r = static_cast<int>(threadIdx.x) / kWarp; r < Shape::kRows; r += Shape::kWarps) {
    const int m = tile.begin + min(r, rows - 1);
    const T* from = args.from.query(tile.row + m / args.queries, group, m % args.queries);
    copy_row<T, kWidth>(tiles.queries(), r, from, r < rows ? width : 0, args.vectors);
  }
  fetch(start, 0);

  const int first = static_cast<int>(threadIdx.x) / kWarp * kWarpRows, first_row = tile.begin + first;
  const Seen seen =
      seen_between([&](int r) { return first_seen(first_row + r); }, [&](int r) { return visible(first_row + r); });
  const float base = args.scale * kLog2E;
  RunningRows<Shape::kColumns> state;
  state.clear();
  for (int begin = start, turn = 0; begin < end; begin += Shape::kKeys, turn ^= 1) {
    fetch(begin + Shape::kKeys, turn ^ 1);
    wait_for_copies<1>();
    __syncthreads();
    const auto attend_tile = [&]<bool kEdge>() {
      state.template attend<kEdge>(tiles, turn, first, begin, seen, base, [](auto&) {});
    };
    if (first_row < tile.length && seen.all(begin, Shape::kKeys)) {
      attend_tile.template operator()<false>();
    } else if (first_row < tile.length && seen.any(begin, Shape::kKeys)) {
      attend_tile.template operator()<true>();
    }
    __syncthreads();  // this buffer is filled again in the next round
    const int next = begin + Shape::kKeys, chunk = begin / kChunk * kChunk;
    if (next % kChunk != 0 && next < end) continue;
    state.finish();
    const auto in_chunk = [&](int h) { return seen.first[h] < chunk + kChunk && chunk < seen.last[h]; };
    if (chunk > start) so_far.join(state, {in_chunk(0), in_chunk(1)}, base);
    if (next < end) so_far.save(state), state.clear();
  }
  wait_for_copies<0>();  // without a key nothing has waited for the queries, whose place is written now
  __syncthreads();

  const auto inside = [&](int r) { return first_row + r < tile.length; };
  const auto first_chunk = [&](int r) { return first_seen(first_row + r) / kChunk; };
  const auto in_parts = [&](int r) { return apart && visible(first_row + r) > (first_chunk(r) + 1) * kChunk; };
  const auto place = [&](int r) {
    const int m = first_row + r;
    return args.place(tile.row + m / args.queries, group, m % args.queries);
  };
  const float factor[2] = {formulas::inverse_sum(state.sum[0]), formulas::inverse_sum(state.sum[1])};
  store_rows<T, kWidth, Shape::kColumns>(state.sums, factor, tiles.queries(), first, columns, args.vectors, [&](int r) {
    return inside(r) && !in_parts(r) && (!apart || start == first_chunk(r) * kChunk)
               ? args.out + place(r) * width + tiles.first_column
               : nullptr;
  });
  if (!apart) return;
  const int64_t part = blockIdx.z * args.rows * args.groups * args.queries;
  const auto wanted = [&](int r) {
    return inside(r) && in_parts(r) && first_chunk(r) * kChunk <= start && start < visible(first_row + r);
  };
  store_parts<T>(state, columns, [&](int r) {
    return wanted(r) ? args.parts + (part + place(r)) * args.part_row + tiles.first_column : nullptr;
  });
  if (part_of_head != 0) return;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int r = lane() / 4 + 8 * h;
    if (lane() % 4 == 0 && wanted(r)) args.ranges[part + place(r)] = make_float2(state.max[h], state.sum[h]);
  }
}

constexpr int kJoinThreads = tuning::kCacheJoinThreads;

// Neighbouring threads that share a row of one head: an even number, since they may read for each other (pieces.cuh).
template <class T>
int lanes_of_row(int width) {
  const unsigned pieces = static_cast<unsigned>((width + kVector<T> - 1) / kVector<T>);
  return static_cast<int>(std::clamp(std::bit_ceil(pieces), 2u, static_cast<unsigned>(kWarp)));
}

// Joins the chunks of each row that has several. A warp takes as many steps as its longest row has chunks.
template <class T>
__global__ void __launch_bounds__(kJoinThreads) cached_attention_join(const CachedAttentionArgs<T> args, int lanes) {
  constexpr int N = kVector<T>;
  const int64_t all = args.rows * args.groups * args.queries, mine = thread_index() / lanes;
  const int64_t place = min(mine, all - 1), row = place / (args.groups * args.queries);
  const int sequence = last_sequence(args.sequences, row, [&](int s) { return args.query_offsets[s]; });
  const int before = args.past[sequence], query = static_cast<int>(row - args.query_offsets[sequence]);
  const int first_part = args.first(before, query) / kChunk - args.first_chunk(before);
  const int parts = (args.visible(before, query) + kChunk - 1) / kChunk - args.first_chunk(before);
  const int end = mine < all && parts > first_part + 1 ? parts : 0;  // 0: the row is not in parts
  const int most = warp_reduce(end, [](int a, int b) { return max(a, b); });
  const float base = args.scale * kLog2E;
  for (int first = 0; first < args.from.width; first += lanes * N) {
    const int c = first + static_cast<int>(threadIdx.x) % lanes * N;
    float2 range{};
    float sums[N];
    for (int part = 0; part < most; ++part) {
      const bool has = first_part <= part && part < end, begins = part == first_part;
      float more[N];
      load_piece<true>(args.parts + (part * all + place) * args.part_row + c, (has ? args.from.width : 0) - c, more);
      if (!has) continue;
      const float2 next = args.ranges[part * all + place];
      const Joined joined(begins ? next.x : range.x, range.y, next.x, next.y, base);
#pragma unroll
      for (int i = 0; i < N; ++i) sums[i] = begins ? more[i] : joined(sums[i], more[i]);
      range = begins ? next : make_float2(joined.max, joined.sum);
    }
    if (end == 0) continue;
    const float factor = formulas::inverse_sum(range.y);
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] *= factor;
    T* const to = args.out + place * args.from.width + c;
    args.vectors ? store_piece<true>(to, args.from.width - c, sums) : store_piece<false>(to, args.from.width - c, sums);
  }
}

constexpr int kAppendThreads = tuning::kElementThreads;

// Copies the new rows' keys and values to positions past[s] .. of their slots: a thread takes a vector of both, or an
// element.
template <class T>
__global__ void __launch_bounds__(kAppendThreads) append_to_cache(const CachedAttentionArgs<T> args) {
  const int step = args.vectors ? kVector<T> : 1, units = args.from.width / step;
  const int64_t i = thread_index(), row = i / (args.groups * units);
  if (row >= args.rows) return;
  const int group = static_cast<int>(i / units % args.groups), c = static_cast<int>(i % units) * step;
  const int sequence = last_sequence(args.sequences, row, [&](int s) { return args.query_offsets[s]; });
  const int64_t position = args.past[sequence] + (row - args.query_offsets[sequence]);
  const T* from = args.from.key(row, group) + c;
  T* to = args.cache.key(args.slots[sequence] * args.capacity + position % args.capacity, group) + c;
  if (args.vectors) {
    const uint4 key = *reinterpret_cast<const uint4*>(from),
                value = *reinterpret_cast<const uint4*>(from + args.from.width);
    *reinterpret_cast<uint4*>(to) = key;
    *reinterpret_cast<uint4*>(to + args.from.width) = value;
  } else {
    to[0] = from[0];
    to[args.from.width] = from[args.from.width];
  }
}

// Chunks that have blocks of their own; 1: a block takes all chunks.
int64_t chunks_apart(const CachedAttention& args) {
  if (args.query_offsets->longest * args.heads.queries > tuning::kFewCacheRows) return 1;
  const auto band = formulas::Band::of(static_cast<bool>(args.qkv), args.window);
  int64_t most = 1;
  for (int64_t s = 0; s < args.query_offsets->sequences(); ++s) {
    const int64_t added = args.query_offsets->length(s), past = args.rows->past[s];
    if (added == 0) continue;
    const int64_t end = (past + (args.qkv ? added : 0) + kChunk - 1) / kChunk;
    most = std::max(most, end - band.first(past) / kChunk);
  }
  return most;
}

template <class T, int kWidth>
dim3 grid_of(const CachedAttention& args, int64_t chunks) {
  using Shape = AttentionShape<T, kWidth>;
  const int64_t rows = args.out.rows() * args.heads.queries;
  return {static_cast<unsigned>(tiles_of(rows, args.query_offsets->sequences(), Shape::kRows)),
          static_cast<unsigned>(args.heads.kv_heads * Shape::kParts), static_cast<unsigned>(chunks)};
}

// The device's memory for the joined parts of all blocks; 0 if they lie in shared memory, as in plans without a device.
// A type that devices do not compute in is refused later.
int64_t floats_joined_outside(const CachedAttention& args, std::optional<int> device) {
  int64_t floats = 0;
  if (!device || args.out.dtype() == DType::F64) return floats;
  with_device_type(args.out.dtype(), [&]<class T>() {
    with_head_width(args.heads.head_dim, [&]<int kWidth>() {
      if constexpr (bytes_to_join<T, kWidth>() > kSharedOfAnyDevice) {
        if (bytes_to_join<T, kWidth>() <= static_cast<size_t>(block_limits(*device).shared_of_block)) return;
        const dim3 grid = grid_of<T, kWidth>(args, 1);
        floats = int64_t{grid.x} * grid.y * JoinedOf<T, kWidth>::kFloats * AttentionShape<T, kWidth>::kThreads;
      }
    });
  });
  return floats;
}

struct ChunkParts {
  int64_t chunks;
  float *sums = nullptr, *joined = nullptr;
  float2* ranges = nullptr;
  int64_t row = 0;

  ChunkParts(const CachedAttention& args, std::optional<int> device, Scratch& scratch) : chunks(chunks_apart(args)) {
    if (chunks == 1) {
      const int64_t floats = floats_joined_outside(args, device);
      if (floats > 0) joined = scratch.take<float>(floats);
      return;
    }
    row = (args.heads.head_dim + 7) / 8 * 8;
    const int64_t rows = chunks * args.out.rows() * args.heads.heads();
    sums = scratch.take<float>(rows * row);
    ranges = scratch.take<float2>(rows);
  }
};

// The kernel that joins where the device has room for it. Shared memory for the joined parts is asked for only if a
// block joins.
template <class T, int kWidth>
void launch_attention(const Stream& stream, const CachedAttention& args, int64_t chunks,
                      const CachedAttentionArgs<T>& all) {
  using Shape = AttentionShape<T, kWidth>;
  const dim3 grid = grid_of<T, kWidth>(args, chunks);
  if constexpr (bytes_to_join<T, kWidth>() > kSharedOfAnyDevice) {
    if (all.joined) {
      launch(stream, cached_attention<T, kWidth, false>, grid, Shape::kThreads, Shape::kSharedBytes, all);
      return;
    }
  }
  launch(stream, cached_attention<T, kWidth, true>, grid, Shape::kThreads,
         chunks > 1 ? Shape::kSharedBytes : bytes_to_join<T, kWidth>(), all);
}

template <class T>
void launch_cached(const Stream& stream, const CachedAttention& args, const ChunkParts& parts) {
  const AttentionHeads& heads = args.heads;
  const T *qkv = elements_of<T>(args.qkv), *q = elements_of<T>(args.q), *out = elements_of<T>(args.out),
          *cache = elements_of<T>(args.cache);
  const int64_t sequences = args.query_offsets->sequences();
  const int32_t* slots_and_past = args.rows->device.template device_data<int32_t>();
  const CachedAttentionArgs<T> all{.from = HeadRows<const T>(args.qkv, args.q, {}, heads),
                                   .cache = HeadRows<T>({}, {}, args.cache, heads),
                                   .capacity = args.cache.size(1),
                                   .query_offsets = args.query_offsets->device.template device_data<int32_t>(),
                                   .slots = slots_and_past,
                                   .past = slots_and_past + sequences,
                                   .sequences = static_cast<int>(sequences),
                                   .queries = static_cast<int>(heads.queries),
                                   .groups = static_cast<int>(heads.kv_heads),
                                   .band = formulas::Band::of(static_cast<bool>(args.qkv), args.window),
                                   .self = static_cast<bool>(args.qkv),
                                   .vectors = vectorised_heads<T>(heads, qkv, q, out, cache),
                                   .scale = attention_scale(args.scale),
                                   .out = elements_of<T>(args.out),
                                   .rows = args.out.size(0),
                                   .parts = parts.sums,
                                   .ranges = parts.ranges,
                                   .part_row = static_cast<int>(parts.row),
                                   .joined = parts.joined};
  if (all.rows == 0) return;
  if (args.qkv) {
    const int64_t units = all.rows * heads.kv_heads * heads.head_dim / (all.vectors ? kVector<T> : 1);
    launch(stream, append_to_cache<T>, blocks_for(units, kAppendThreads), kAppendThreads, 0, all);
  }
  with_head_width(heads.head_dim, [&]<int kWidth>() { launch_attention<T, kWidth>(stream, args, parts.chunks, all); });
  if (parts.sums) {
    const int lanes = lanes_of_row<T>(all.from.width);
    launch(stream, cached_attention_join<T>, blocks_for(all.rows * heads.heads() * lanes, kJoinThreads), kJoinThreads,
           0, all, lanes);
  }
}

}  // namespace

template <>
size_t CudaBackend::workspace(const CachedAttention& args) const {
  const auto device = queues_ ? std::optional(stream().device()) : std::nullopt;
  return scratch_bytes([&](Scratch& scratch) { ChunkParts(args, device, scratch); });
}

template <>
void CudaBackend::run(const CachedAttention& args, Scratch scratch) {
  with_device_type(args.out.dtype(),
                   [&]<class T>() { launch_cached<T>(stream(), args, ChunkParts(args, stream().device(), scratch)); });
}

}  // namespace weft::cuda
