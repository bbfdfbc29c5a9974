// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/cross_entropy.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/runtime/devices.h"
#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/tuning.h"

namespace weft::cuda {
namespace {

constexpr int kThreads = tuning::kCrossEntropyThreads;
constexpr int kPiece = kVector<float>;  // logits that one copy brings

// CrossEntropy as kernels take it. T: the dtype of dlogits.
template <class T>
struct CrossEntropyArgs {
  const float* logits;
  const int32_t* targets;
  int64_t rows;
  int columns, valid;
  double smoothing, z_loss;
  InverseDivisor inverse_divisor;
  float *loss, *nll;  // nll may be null
  T* dlogits;
  int kept;  // columns of a row that shared memory keeps

  explicit CrossEntropyArgs(const CrossEntropy& args)
      : logits(elements_of<float>(args.logits)),
        targets(args.targets.device_data<int32_t>()),
        rows(args.logits.size(0)),
        columns(static_cast<int>(args.logits.columns())),
        valid(static_cast<int>(args.valid_columns)),
        smoothing(args.smoothing),
        z_loss(args.z_loss),
        inverse_divisor(args.step),
        loss(elements_of<float>(args.loss)),
        nll(elements_of<float>(args.nll)),
        dlogits(elements_of<T>(args.dlogits)),
        kept(0) {}

  __device__ float target_logit(int64_t r, int32_t target) const {
    return formulas::target_logit(logits + r * columns, target, valid);
  }
  // Whether r is a row that counts: an ignored row has loss and gradient 0, whatever values it holds.
  __device__ bool counts(int64_t r) const { return r < rows && targets[r] >= 0; }
  __device__ void put(int64_t r, float row_loss, float row_nll) const {
    loss[r] = row_loss;
    if (nll) nll[r] = row_nll;
  }
  __device__ void put_losses(int64_t r, const RowStats& s) const {
    put(r, row_loss(s, smoothing, z_loss, valid), row_loss(s, 0, 0, valid));
  }
};

// The rows of logits that a block works on, one after the other. Shared memory keeps a row, and each thread reads the
// pieces that it has asked for itself, so no barrier is needed. When a thread has used a piece for the last time, it
// asks for the same piece of the next row: that one arrives while this one's gradient is written. What shared memory
// cannot keep of a longer row is read twice, the second time from the L2 cache if all blocks' rows fit.
template <class T, bool kAligned>
class KeptRow {
 public:
  __device__ KeptRow(const CrossEntropyArgs<T>& args, float4* shared) : args_(args), shared_(shared) {}

  // Asks for all that is kept of a row.
  __device__ void ask_for(int64_t row) {
    if (args_.counts(row)) for_kept([&](int first) { ask(row, first); });
    commit_copies();
  }
  // Calls body(first column, x) for each piece of the row that was asked for last.
  template <class Body>
  __device__ void read(int64_t row, Body&& body) const {
    wait_for_copies<0>();
    for_kept([&](int first) { with_kept(first, body); });
    for_rest(row, body);
  }
  // Calls body(first column, x) for each piece again, and asks for all that is kept of `next`.
  template <class Body>
  __device__ void use(int64_t row, int64_t next, Body&& body) {
    const bool more = args_.counts(next);
    for_kept([&](int first) {
      with_kept(first, [&](int column, float(&x)[kPiece]) {
        if (more) ask(next, first);
        body(column, x);
      });
    });
    commit_copies();
    for_rest(row, body);
  }

 private:
  __device__ static int step() { return static_cast<int>(blockDim.x) * kPiece; }
  template <class Body>
  __device__ void for_kept(Body&& body) const {
#pragma unroll 4
    for (int first = static_cast<int>(threadIdx.x) * kPiece; first < args_.kept; first += step()) body(first);
  }
  template <class Body>
  __device__ void with_kept(int first, Body&& body) const {
    const float4 v = shared_[first / kPiece];
    float x[kPiece] = {v.x, v.y, v.z, v.w};
    pad_logits(first, args_.valid, x);
    body(first, x);
  }
  template <class Body>
  __device__ void for_rest(int64_t row, Body&& body) const {
    for (int first = args_.kept + static_cast<int>(threadIdx.x) * kPiece; first < args_.columns; first += step()) {
      float x[kPiece];
      load_logits<kAligned>(args_.logits + row * args_.columns, first, args_.valid, x);
      body(first, x);
    }
  }
  __device__ void ask(int64_t row, int first) const {
    float4* const to = shared_ + first / kPiece;
    const float* const from = args_.logits + row * args_.columns;
    if constexpr (kAligned) {
      copy_16_later(to, from + first, true);
    } else {
#pragma unroll
      for (int i = 0; i < kPiece; ++i) {
        const bool inside = first + i < args_.columns;
        copy_4_later(reinterpret_cast<float*>(to) + i, from + (inside ? first + i : 0), inside);
      }
    }
  }

  const CrossEntropyArgs<T>& args_;
  float4* shared_;
};

template <bool kZLoss, class T, bool kAligned>
__device__ void work_on_row(const CrossEntropyArgs<T>& args, KeptRow<T, kAligned>& kept, int64_t r, int64_t next) {
  __shared__ float words[3][kThreads / kWarp];
  __shared__ RowStats stats;  // the first thread keeps them here until it writes the losses
  const int32_t target = args.targets[r];
  RunningSum running;
  float total = 0;
  kept.read(r, [&](int first, const float(&x)[kPiece]) {
    running.add(x);
    if (args.smoothing == 0) return;  // nothing asks for the total
#pragma unroll
    for (int i = 0; i < kPiece; ++i) total += first + i < args.valid ? x[i] : 0.0f;
  });
  running.join(words[0], words[1]);
  total = row_sum(total, words[2]);
  if (threadIdx.x == 0) stats = {running.most, running.sum, args.target_logit(r, target), total};
  __syncthreads();  // the target's logit has been read, and may be written to
  const auto gradient = row_gradient(args, kZLoss ? args.z_loss : 0, args.valid, running.most, running.sum);
  kept.use(r, next, [&](int first, float(&x)[kPiece]) {
#pragma unroll
    for (float& each : x) each = natural_exponential(each - running.most);
    apply_gradient(gradient, first, args.valid, target, x);
    store_piece<kAligned>(args.dlogits + r * args.columns + first, args.columns - first, x);
  });
  if (threadIdx.x == 0) args.put_losses(r, stats);
}

template <class T, bool kAligned>
__device__ void ignore_row(const CrossEntropyArgs<T>& args, int64_t r) {
  const float zero[kPiece] = {};
  for_pieces<false, kPiece>(args.columns, [&](int first) {
    store_piece<kAligned>(args.dlogits + r * args.columns + first, args.columns - first, zero);
  });
  if (threadIdx.x == 0) args.put(r, 0, 0);
}

// Without z-loss it takes one register or two less.
template <class T, bool kAligned, bool kZLoss>
__global__ void __launch_bounds__(kThreads, 2) cross_entropy_rows(const __grid_constant__ CrossEntropyArgs<T> args) {
  extern __shared__ float4 shared[];
  KeptRow<T, kAligned> kept(args, shared);
  kept.ask_for(blockIdx.x);
  for (int64_t r = blockIdx.x; r < args.rows; r += gridDim.x) {
    const int64_t next = r + gridDim.x;
    if (args.counts(r)) {
      work_on_row<kZLoss>(args, kept, r, next);
    } else {
      ignore_row<T, kAligned>(args, r);
      kept.ask_for(next);
    }
  }
}

// Without a gradient the row is read once and nothing is kept.
template <bool kAligned>
__global__ void __launch_bounds__(kRowThreads)
    cross_entropy_loss_row(const CrossEntropyArgs<float> args, int64_t rows) {
  __shared__ float words[3][kRowWarps];
  const int64_t r = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  const int32_t target = r < rows ? args.targets[r] : -1;
  const bool counts = target >= 0;
  const float* const row = args.logits + (counts ? r * args.columns : 0);
  RowStats s = row_stats<kAligned>(row, counts ? args.valid : 0, args.columns, words);
  if (threadIdx.x != 0 || r >= rows) return;
  if (!counts) return args.put(r, 0, 0);
  s.target = args.target_logit(r, target);
  args.put_losses(r, s);
}

template <class T, bool kZLoss>
auto* rows_kernel(bool aligned) {
  return aligned ? cross_entropy_rows<T, true, kZLoss> : cross_entropy_rows<T, false, kZLoss>;
}

template <class T>
void launch_with_gradient(const Stream& stream, const CrossEntropy& args) {
  CrossEntropyArgs<T> row(args);
  const BlockLimits limits = block_limits(stream.device());
  // As few threads as keep a row busy, so that small vocabularies have more than one block on a multiprocessor.
  const int pieces = (row.columns + kPiece - 1) / kPiece;
  const int threads = kWarp * std::clamp(pieces / (tuning::kCrossEntropyPieces * kWarp), 1, kThreads / kWarp);
  constexpr int kPieceBytes = kPiece * sizeof(float);
  const int kept = std::min(pieces, (limits.shared_of_block - tuning::kCrossEntropyOwnBytes) / kPieceBytes);
  row.kept = std::min(kept * kPiece, row.columns);
  const size_t shared = static_cast<size_t>(kept) * kPieceBytes;
  const int64_t at_once = limits.blocks_at_once(threads, shared + tuning::kCrossEntropyOwnBytes);
  const auto blocks = static_cast<unsigned>(std::min(row.rows, at_once));
  const bool aligned = vectorised(row.logits, row.columns) && vectorised(row.dlogits, row.columns);
  auto* const kernel = row.z_loss == 0 ? rows_kernel<T, false>(aligned) : rows_kernel<T, true>(aligned);
  launch(stream, kernel, blocks, static_cast<unsigned>(threads), shared, row);
}

void launch_without_gradient(const Stream& stream, const CrossEntropy& args) {
  const CrossEntropyArgs<float> row(args);
  const int64_t rows = args.logits.size(0);
  const dim3 block = row_block(row.columns, kVector<float>).block;
  const auto start = [&](auto* kernel) { launch(stream, kernel, blocks_for(rows, block.y), block, 0, row, rows); };
  vectorised(row.logits, row.columns) ? start(cross_entropy_loss_row<true>) : start(cross_entropy_loss_row<false>);
}

}  // namespace

template <>
void CudaBackend::run(const CrossEntropy& args) {
  require_device_type(args.logits.dtype());
  if (!args.dlogits) return launch_without_gradient(stream(), args);
  with_device_type(args.dlogits.dtype(), [&]<class T>() { launch_with_gradient<T>(stream(), args); });
}

}  // namespace weft::cuda
