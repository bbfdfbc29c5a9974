// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cross_entropy.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/tuning.h"

// Cross-entropy in four operations, for a vocabulary that is divided over ranks.
namespace weft::cuda {
namespace {

using tuning::kElementThreads;

// CrossEntropyStats as the kernel takes it.
struct CrossEntropyStatsArgs {
  const float* logits;
  const int32_t* targets;
  int64_t rows, first_column;
  int columns, valid;
  float *most, *sum, *target, *total;  // total may be null

  explicit CrossEntropyStatsArgs(const CrossEntropyStats& args)
      : logits(elements_of<float>(args.logits)),
        targets(args.targets.device_data<int32_t>()),
        rows(args.logits.rows()),
        first_column(args.first_column),
        columns(static_cast<int>(args.logits.columns())),
        valid(static_cast<int>(args.valid_columns)),
        most(elements_of<float>(args.row_max)),
        sum(elements_of<float>(args.row_sum)),
        target(elements_of<float>(args.row_target)),
        total(elements_of<float>(args.row_total)) {}
};

template <bool kAligned>
__global__ void __launch_bounds__(kRowThreads) cross_entropy_chunk_stats(const CrossEntropyStatsArgs args) {
  __shared__ float words[3][kRowWarps];
  const int64_t r = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  const bool here = r < args.rows;
  const float* const row = args.logits + (here ? r * args.columns : 0);
  const RowStats s = row_stats<kAligned>(row, here ? args.valid : 0, args.columns, words);
  if (!here || threadIdx.x != 0) return;
  args.most[r] = s.most;
  args.sum[r] = s.sum;
  args.target[r] = formulas::target_logit_of_chunk(row, args.targets[r], args.first_column, args.valid);
  if (args.total) args.total[r] = s.total;
}

__global__ void cross_entropy_rebase(const float* most, const float* whole, float* sum, int64_t rows) {
  const int64_t r = thread_index();
  if (r < rows) formulas::rebase_sum(sum[r], most[r], whole[r]);
}

__global__ void cross_entropy_losses(const int32_t* targets, const float* most, const float* sum, const float* target,
                                     const float* total, double smoothing, double z_loss, int64_t vocabulary,
                                     float* loss, int64_t rows) {
  const int64_t r = thread_index();
  if (r >= rows) return;
  const RowStats s{most[r], sum[r], target[r], total ? total[r] : 0.0f};
  loss[r] = targets[r] < 0 ? 0.0f : row_loss(s, smoothing, z_loss, vocabulary);
}

// CrossEntropyGradient as the kernel takes it. T: the dtype of dlogits.
template <class T>
struct CrossEntropyGradientArgs {
  const float* logits;
  const int32_t* targets;
  const float *most, *sum;
  int64_t rows, first_column, vocabulary;
  int columns, valid;
  double smoothing, z_loss;
  InverseDivisor inverse_divisor;
  T* dlogits;

  explicit CrossEntropyGradientArgs(const CrossEntropyGradient& args)
      : logits(elements_of<float>(args.logits)),
        targets(args.targets.device_data<int32_t>()),
        most(elements_of<float>(args.row_max)),
        sum(elements_of<float>(args.row_sum)),
        rows(args.logits.rows()),
        first_column(args.first_column),
        vocabulary(args.vocabulary),
        columns(static_cast<int>(args.logits.columns())),
        valid(static_cast<int>(args.valid_columns)),
        smoothing(args.smoothing),
        z_loss(args.z_loss),
        inverse_divisor(args.step),
        dlogits(elements_of<T>(args.dlogits)) {}
};

template <class T, bool kAligned>
__global__ void __launch_bounds__(kRowThreads) cross_entropy_chunk_gradient(const CrossEntropyGradientArgs<T> args) {
  constexpr int N = kVector<T>;
  const int64_t r = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (r >= args.rows) return;  // a whole warp returns
  const float* const row = args.logits + r * args.columns;
  T* const out = args.dlogits + r * args.columns;
  const int32_t target = args.targets[r];
  const float most = args.most[r];
  const auto gradient = row_gradient(args, args.z_loss, args.vocabulary, most, args.sum[r]);
  for_pieces<false, N>(args.columns, [&](int first) {
    float x[N] = {};
    if (target >= 0) {
      load_logits<kAligned>(row, first, args.valid, x);
#pragma unroll
      for (int i = 0; i < N; ++i) x[i] = natural_exponential(x[i] - most);
      apply_gradient(gradient, first, args.valid, target - args.first_column, x);
    }
    store_piece<kAligned>(out + first, args.columns - first, x);
  });
}

template <class T>
void launch_gradient(const Stream& stream, const CrossEntropyGradient& args) {
  const CrossEntropyGradientArgs<T> row(args);
  const dim3 block = row_block(row.columns, kVector<T>).block;
  const auto start = [&](auto* kernel) { launch(stream, kernel, blocks_for(row.rows, block.y), block, 0, row); };
  const bool aligned = vectorised(row.logits, row.columns) && vectorised(row.dlogits, row.columns);
  aligned ? start(cross_entropy_chunk_gradient<T, true>) : start(cross_entropy_chunk_gradient<T, false>);
}

}  // namespace

template <>
void CudaBackend::run(const CrossEntropyStats& args) {
  require_device_type(args.logits.dtype());
  const CrossEntropyStatsArgs row(args);
  const dim3 block = row_block(row.columns, kVector<float>).block;
  const auto start = [&](auto* kernel) { launch(stream(), kernel, blocks_for(row.rows, block.y), block, 0, row); };
  vectorised(row.logits, row.columns) ? start(cross_entropy_chunk_stats<true>)
                                      : start(cross_entropy_chunk_stats<false>);
}

template <>
void CudaBackend::run(const CrossEntropyRebase& args) {
  require_device_type(args.row_sum.dtype());
  const int64_t rows = args.row_sum.elements();
  launch(stream(), cross_entropy_rebase, blocks_for(rows, kElementThreads), kElementThreads, 0,
         elements_of<float>(args.row_max), elements_of<float>(args.whole_max), elements_of<float>(args.row_sum), rows);
}

template <>
void CudaBackend::run(const CrossEntropyLoss& args) {
  require_device_type(args.loss.dtype());
  const int64_t rows = args.loss.elements();
  launch(stream(), cross_entropy_losses, blocks_for(rows, kElementThreads), kElementThreads, 0,
         elements_of<int32_t>(args.targets), elements_of<float>(args.row_max), elements_of<float>(args.row_sum),
         elements_of<float>(args.row_target), elements_of<float>(args.row_total), args.smoothing, args.z_loss,
         args.vocabulary, elements_of<float>(args.loss), rows);
}

template <>
void CudaBackend::run(const CrossEntropyGradient& args) {
  with_device_type(args.dlogits.dtype(), [&]<class T>() { launch_gradient<T>(stream(), args); });
}

}  // namespace weft::cuda
