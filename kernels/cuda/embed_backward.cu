// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/tuning.h"
#include "kernels/ops/embed.h"

// The rows of dy in sorted order are cut into chunks of a fixed length, so that a token that half of the rows have
// costs no more than others. Within a chunk each index's rows follow each other: a segment. The sum of a segment that
// lies within its chunk is added to the table at once. One that continues in the next chunk leaves a partial sum for
// each chunk that it touches, and a second kernel adds those up.
namespace weft::cuda {
namespace {

// The gradient of a table whose rows were looked up.
struct IndexSums {
  Tensor indices;     // i32[rows]: which row of the table each row of dy belongs to
  Tensor order;       // i32[rows]: the rows sorted by index, then by row
  int64_t first = 0;  // the index of the table's row 0; indices outside the table are ignored
  double scale = 1;
  Tensor table;  // f32[.., width]; nothing is done if it is absent
  Accumulate mode = Accumulate::Add;
};

constexpr int kChunk = tuning::kIndexChunk, kBatch = tuning::kIndexBatch;
static_assert(kChunk == kWarp);  // a lane holds the number and the index of one row

int64_t chunks_of(int64_t rows) { return (rows + kChunk - 1) / kChunk; }

// Partial sums of a chunk: of a segment that an earlier chunk began, and of one that begins here and continues in the
// next chunk. A segment that does both counts as the former.
enum Partial { kContinues = 0, kBegins = 1, kPartials = 2 };

template <class T>
struct IndexSumsArgs {
  const T* dy;
  const int32_t *indices, *order;
  int64_t first, table_rows;
  float scale;
  float* table;
  float* partial;  // [kPartials, chunks, width]
  int64_t rows, chunks;
  int width;
  DropoutMask mask;

  IndexSumsArgs(const Tensor& dy, const Dropout& dropout, const IndexSums& args, float* partial)
      : dy(elements_of<T>(dy)),
        indices(args.indices.device_data<int32_t>()),
        order(args.order.device_data<int32_t>()),
        first(args.first),
        table_rows(args.table.rows()),
        scale(static_cast<float>(args.scale)),
        table(args.table.device_data<float>()),
        partial(partial),
        rows(dy.rows()),
        chunks(chunks_of(rows)),
        width(static_cast<int>(dy.columns())),
        mask(dropout) {}

  bool aligned() const { return vectorised(dy, width) && vectorised(table, width); }
  __device__ int index_at(int64_t sorted) const { return indices[order[sorted]]; }
  __device__ bool in_table(int index) const { return index >= first && index - first < table_rows; }
  __device__ float* table_row(int index) const { return table + (index - first) * width; }
  __device__ float* partial_row(int64_t chunk, Partial which) const {
    return partial + (which * chunks + chunk) * width;
  }
};

// The sums of the table's rows are taken first and added as one number, so that adding twice is exactly twice.
template <bool kAligned, int N>
__device__ void add_to_table(float* at, int left, float scale, const float (&sum)[N]) {
  float x[N];
  load_piece<kAligned>(at, left, x);
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] += scale * sum[i];
  store_piece<kAligned>(at, left, x);
}

// A warp's chunk of rows: lane i holds the number and index of its i-th row.
template <class T>
struct RowChunk {
  int64_t number;
  int count;       // rows of the chunk; the last chunk may have fewer
  int row, index;  // the row and index of this lane
  // An earlier chunk began the first segment; the last segment continues in the next chunk.
  bool began_before, continued;

  __device__ RowChunk(const IndexSumsArgs<T>& args, int64_t number) : number(number) {
    const int64_t begin = number * kChunk;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    count = static_cast<int>(min(static_cast<int64_t>(kChunk), args.rows - begin));
    row = lane < count ? args.order[begin + lane] : 0;
    index = lane < count ? args.indices[row] : 0;
    began_before = number > 0 && args.index_at(begin - 1) == index_of(0);
    continued = begin + count < args.rows && args.index_at(begin + count) == index_of(count - 1);
  }
  __device__ int row_of(int i) const { return __shfl_sync(0xffffffffu, row, i); }
  __device__ int index_of(int i) const { return __shfl_sync(0xffffffffu, index, i); }
};

// Sums one piece of each row of a chunk, and puts the sum of each segment where it belongs.
template <class T, bool kAligned>
__device__ void sum_segments(const IndexSumsArgs<T>& args, const RowChunk<T>& chunk, int first) {
  constexpr int N = kVector<T>;
  const int left = args.width - first;
  float sum[N] = {};
  bool began_before = chunk.began_before;
  for (int begin = 0; begin < chunk.count; begin += kBatch) {
    float x[kBatch][N];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const bool wanted = begin + i < chunk.count && args.in_table(chunk.index_of(begin + i));
      load_piece<kAligned>(args.dy + int64_t{chunk.row_of(begin + i)} * args.width + first, wanted ? left : 0, x[i]);
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int at = begin + i;
      if (at >= chunk.count) break;
      const int index = chunk.index_of(at);
      if (args.mask.active()) args.mask.multiply(chunk.row_of(at), first, x[i]);
#pragma unroll
      for (int j = 0; j < N; ++j) sum[j] += x[i][j];
      const bool last = at + 1 == chunk.count;
      if (!last && chunk.index_of(at + 1) == index) continue;
      if (args.in_table(index)) {
        if (began_before) {
          store_piece<kAligned>(args.partial_row(chunk.number, kContinues) + first, left, sum);
        } else if (last && chunk.continued) {
          store_piece<kAligned>(args.partial_row(chunk.number, kBegins) + first, left, sum);
        } else {
          add_to_table<kAligned>(args.table_row(index) + first, left, args.scale, sum);
        }
      }
      began_before = false;
#pragma unroll
      for (int j = 0; j < N; ++j) sum[j] = 0;
    }
  }
}

template <class T, bool kAligned, bool kOnce>
__global__ void __launch_bounds__(kRowThreads) embed_backward_chunks(const IndexSumsArgs<T> args) {
  const int64_t number = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (number >= args.chunks) return;  // a whole warp returns
  const RowChunk<T> chunk(args, number);
  for_pieces<kOnce, kVector<T>>(args.width, [&](int first) { sum_segments<T, kAligned>(args, chunk, first); });
}

// Returns the first chunk after `chunk` that begins with a larger index.
template <class T>
__device__ int64_t end_of_segment(const IndexSumsArgs<T>& args, int64_t chunk, int index) {
  int64_t low = chunk + 1, high = args.chunks;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (args.index_at(middle * kChunk) > index) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Block c adds up the partial sums of the segment that begins in chunk c and continues in the next, if there is one:
// the block's rows of threads take the chunks in turn.
template <class T, bool kAligned, bool kOnce>
__global__ void __launch_bounds__(kRowThreads) embed_backward_join(const IndexSumsArgs<T> args) {
  constexpr int N = kVector<T>;
  __shared__ float words[kRowThreads * N];
  const int64_t chunk = blockIdx.x, next = (chunk + 1) * kChunk;
  if (next >= args.rows) return;
  const int index = args.index_at(next);
  const bool continues = args.index_at(next - 1) == index;
  const bool began_here = chunk == 0 || args.index_at(chunk * kChunk - 1) != index;
  if (!continues || !began_here || !args.in_table(index)) return;  // the whole block returns
  const int64_t end = end_of_segment(args, chunk, index);
  for_pieces<kOnce, N>(args.width, [&](int first) {
    const int left = args.width - first;
    float sum[N] = {};
    for (int64_t c = chunk + threadIdx.y; c < end; c += blockDim.y) {
      float x[N];
      load_piece<kAligned>(args.partial_row(c, c == chunk ? kBegins : kContinues) + first, left, x);
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] += x[i];
    }
    sum_over_rows(sum, words);
    if (threadIdx.y == 0) add_to_table<kAligned>(args.table_row(index) + first, left, args.scale, sum);
  });
}

template <class T>
void launch_index_sums(const Stream& stream, const IndexSumsArgs<T>& args) {
  const RowBlock rows = row_block(args.width, kVector<T>);
  with_row_form(args.aligned(), rows.once, [&]<bool kAligned, bool kOnce>() {
    launch(stream, embed_backward_chunks<T, kAligned, kOnce>, blocks_for(args.chunks, rows.block.y), rows.block, 0,
           args);
    launch(stream, embed_backward_join<T, kAligned, kOnce>, static_cast<unsigned>(args.chunks), rows.block, 0, args);
  });
}

size_t index_sums_bytes(const Tensor& dy) {
  return scratch_bytes([&](Scratch& s) { s.take<float>(chunks_of(dy.rows()) * kPartials * dy.columns()); });
}

// table[i] (+)= scale * the sum of dropout(dy[r]) over the rows r of index i, in an order that the indices alone give;
// without atomics.
void sum_by_index(const Stream& stream, const Tensor& dy, const Dropout& dropout, const IndexSums& sums,
                  Scratch scratch) {
  if (!sums.table) return;
  with_device_type(dy.dtype(), [&]<class T>() {
    if (sums.mode == Accumulate::Overwrite) {
      select_device(stream.device());
      check(cudaMemsetAsync(sums.table.device_raw(), 0, sums.table.bytes(), stream.get()), "clearing a gradient");
    }
    float* partial = scratch.take<float>(chunks_of(dy.rows()) * kPartials * dy.columns());
    launch_index_sums<T>(stream, IndexSumsArgs<T>(dy, dropout, sums, partial));
  });
}

}  // namespace

template <>
size_t CudaBackend::workspace(const EmbedBackward& args) const {
  return args.dtable || args.dpositions ? index_sums_bytes(args.dy) : 0;
}

template <>
void CudaBackend::run(const EmbedBackward& args, Scratch scratch) {
  sum_by_index(stream(), args.dy, args.dropout,
               {.indices = args.tokens,
                .order = args.by_token,
                .first = args.first_token,
                .scale = args.scale,
                .table = args.dtable.tensor,
                .mode = args.dtable.mode},
               scratch);
  sum_by_index(stream(), args.dy, args.dropout,
               {.indices = args.row_positions,
                .order = args.by_position,
                .table = args.dpositions.tensor,
                .mode = args.dpositions.mode},
               scratch);
}

template <>
size_t CudaBackend::workspace(const AddPositionsBackward& args) const {
  return args.dpositions ? index_sums_bytes(args.dy) : 0;
}

template <>
void CudaBackend::run(const AddPositionsBackward& args, Scratch scratch) {
  sum_by_index(stream(), args.dy, args.dropout,
               {.indices = args.row_positions,
                .order = args.by_position,
                .table = args.dpositions.tensor,
                .mode = args.dpositions.mode},
               scratch);
  AddPositionsForward forward;  // dx = dropout(scale dy): what it does without positions
  forward.x = args.dy, forward.scale = args.scale, forward.dropout = args.dropout, forward.y = args.dx;
  run(forward, scratch);
}

}  // namespace weft::cuda
