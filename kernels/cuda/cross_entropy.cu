// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/cross_entropy.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/tuning.h"

namespace weft::cuda {
namespace {

using tuning::kHeldLogits, tuning::kKeptRowBytes;
constexpr int kThreads = tuning::kCrossEntropyThreads;

// CrossEntropy as kernels take it. T: the dtype of dlogits.
template <class T>
struct CrossEntropyArgs {
  const float* logits;
  const int32_t* targets;
  int columns, valid;
  double smoothing;
  InverseDivisor inverse_divisor;
  float *loss, *nll;  // nll may be null
  T* dlogits;
  int shared_pieces;  // pieces of each thread that shared memory keeps

  explicit CrossEntropyArgs(const CrossEntropy& args)
      : logits(elements_of<float>(args.logits)),
        targets(args.targets.device_data<int32_t>()),
        columns(static_cast<int>(args.logits.columns())),
        valid(static_cast<int>(args.valid_columns)),
        smoothing(args.smoothing),
        inverse_divisor(args.step),
        loss(elements_of<float>(args.loss)),
        nll(elements_of<float>(args.nll)),
        dlogits(elements_of<T>(args.dlogits)),
        shared_pieces(0) {}

  __device__ float target_logit(int64_t r, int32_t target) const {
    return formulas::target_logit(logits + r * columns, target, valid);
  }
  __device__ void put(int64_t r, float row_loss, float row_nll) const {
    loss[r] = row_loss;
    if (nll) nll[r] = row_nll;
  }
  __device__ void put_losses(int64_t r, const RowStats& s) const {
    put(r, row_loss(s, smoothing, valid), row_loss(s, 0, valid));
  }
};

// A row of logits that is read once: the first pieces of each thread stay in registers, the next in shared memory. The
// rest of a longer row is read again, from the L2 cache if it fits.
template <class T, bool kAligned>
class KeptRow {
 public:
  static constexpr int N = kVector<T>;
  static constexpr int kPieces = kHeldLogits / N;

  __device__ KeptRow(const CrossEntropyArgs<T>& args, int64_t row, float4* shared)
      : logits_(args.logits + row * args.columns),
        columns_(args.columns),
        valid_(args.valid),
        pieces_((args.columns + step() - 1) / step()),
        kept_(min(pieces_, kPieces + args.shared_pieces)),
        shared_(shared) {}

  // Reads the row, all that is kept at once, and calls body(first column, x) for each piece.
  template <class Body>
  __device__ void read(Body&& body) {
    for (int p = kPieces; p < kept_; ++p) ask(p);
    commit_copies();
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      if (p < pieces_) load_logits<kAligned>(logits_, first_of(p), valid_, held_[p]);
    }
    each(body, [] {
      wait_for_copies<0>();
      __syncwarp();  // neighbours have asked for each other's
    });
  }
  // Calls body(first column, x) for each piece again; what it leaves in x is not kept.
  template <class Body>
  __device__ void use(Body&& body) {
    each(body, [] {});
  }

 private:
  __device__ static int step() { return static_cast<int>(blockDim.x) * N; }
  __device__ static int first_of(int piece) { return piece * step() + static_cast<int>(threadIdx.x) * N; }
  // Neighbours' words lie side by side, four a thread, so that no two threads of a request share a bank; in odd
  // quarters two neighbours change places, since ask() writes an even quarter of one beside an odd quarter of the same
  // one.
  __device__ float4* place(int piece, int quarter, int thread) const {
    return shared_ + ((piece - kPieces) * (N / 4) + quarter) * static_cast<int>(blockDim.x) + (thread ^ quarter);
  }
  __device__ void from_shared(int piece, float (&x)[N]) const {
    const int first = first_of(piece);
#pragma unroll
    for (int q = 0; q < N / 4; ++q) {
      const float4 v = *place(piece, q, static_cast<int>(threadIdx.x));
      x[4 * q] = v.x, x[4 * q + 1] = v.y, x[4 * q + 2] = v.z, x[4 * q + 3] = v.w;
    }
    pad_logits(first, valid_, x);
  }
  // Asks for a piece, or for the quarters of two neighbours' pieces that load_piece() would read.
  __device__ void ask(int piece) const {
    const int first = first_of(piece), me = static_cast<int>(threadIdx.x);
    const auto copy = [&](int offset, int quarter) {
      const bool inside = first + offset < columns_;
      copy_16_later(place(piece, quarter, me + (offset < 0 ? -1 : offset / N)), logits_ + (inside ? first + offset : 0),
                    inside);
    };
    if constexpr (!kAligned) {
      float x[N];
      load_logits<false>(logits_, first, valid_, x);
#pragma unroll
      for (int q = 0; q < N / 4; ++q)
        *place(piece, q, me) = make_float4(x[4 * q], x[4 * q + 1], x[4 * q + 2], x[4 * q + 3]);
    } else if constexpr (N == 4) {
      copy(0, 0);
    } else {
      const int quarter = pieces::odd_lane() ? 1 : 0;
      copy(pieces::first_offset(), quarter), copy(pieces::second_offset(), quarter);
    }
  }

  template <class Body, class Arrived>
  __device__ void each(Body&& body, Arrived&& shared_has_arrived) {
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      if (p < pieces_) body(first_of(p), held_[p]);
    }
    shared_has_arrived();
    float x[N];
    for (int p = kPieces; p < kept_; ++p) {
      from_shared(p, x);
      body(first_of(p), x);
    }
    for (int p = max(kept_, kPieces); p < pieces_; ++p) {
      load_logits<kAligned>(logits_, first_of(p), valid_, x);
      body(first_of(p), x);
    }
  }

  const float* logits_;
  int columns_, valid_, pieces_, kept_;
  float4* shared_;
  float held_[kPieces][N];
};

// One block per row. An ignored row has loss and gradient 0, whatever values it holds.
template <class T, bool kAligned>
__global__ void __launch_bounds__(kThreads, 2) cross_entropy_row(const CrossEntropyArgs<T> args) {
  constexpr int N = kVector<T>;
  extern __shared__ float4 shared[];
  __shared__ float words[3][kThreads / kWarp];
  __shared__ RowStats stats;  // holds the statistics until registers are free
  const int64_t r = blockIdx.x;
  const int32_t target = args.targets[r];
  T* const out = args.dlogits + r * args.columns;
  if (target < 0) {
    if (threadIdx.x == 0) args.put(r, 0, 0);
    const float zero[N] = {};
    for_pieces<false, N>(args.columns,
                         [&](int first) { store_piece<kAligned>(out + first, args.columns - first, zero); });
    return;
  }
  KeptRow<T, kAligned> row(args, r, shared);
  RunningSum running;
  float total = 0;
  row.read([&](int first, const float(&x)[N]) {
    running.add(x);
    if (args.smoothing == 0) return;  // nothing asks for the total
#pragma unroll
    for (int i = 0; i < N; ++i) total += first + i < args.valid ? x[i] : 0.0f;
  });
  running.join(words[0], words[1]);
  total = row_sum(total, words[2]);
  if (threadIdx.x == 0) stats = {running.most, running.sum, args.target_logit(r, target), total};
  __syncthreads();  // the target's logit has been read, and may be written to
  const auto gradient = row_gradient(args.inverse_divisor.get(), args.smoothing, args.valid, running.sum);
  row.use([&](int first, float(&x)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = natural_exponential(x[i] - running.most);
    apply_gradient(gradient, first, args.valid, target, x);
    store_piece<kAligned>(out + first, args.columns - first, x);
  });
  if (threadIdx.x == 0) args.put_losses(r, stats);
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

template <class T>
void launch_with_gradient(const Stream& stream, const CrossEntropy& args) {
  constexpr int N = kVector<T>;
  constexpr int64_t kInRegisters = kHeldLogits / N;
  CrossEntropyArgs<T> row(args);
  // As few threads as can keep the row, so that small vocabularies have more than one block on a multiprocessor.
  const int64_t pieces = (row.columns + N - 1) / N;
  const int64_t warps = std::clamp<int64_t>((pieces + 4 * kWarp - 1) / (4 * kWarp), 1, kThreads / kWarp);
  const int64_t threads = warps * kWarp, of_thread = (pieces + threads - 1) / threads;
  const int64_t piece_bytes = threads * N * static_cast<int64_t>(sizeof(float));
  row.shared_pieces = static_cast<int>(std::clamp<int64_t>(of_thread - kInRegisters, 0, kKeptRowBytes / piece_bytes));
  const size_t shared = static_cast<size_t>(row.shared_pieces * piece_bytes);
  const auto start = [&](auto* kernel) {
    launch(stream, kernel, static_cast<unsigned>(args.logits.size(0)), static_cast<unsigned>(threads), shared, row);
  };
  const bool aligned = vectorised(row.logits, row.columns) && vectorised(row.dlogits, row.columns);
  aligned ? start(cross_entropy_row<T, true>) : start(cross_entropy_row<T, false>);
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
