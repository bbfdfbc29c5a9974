// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/column_sums.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/tuning.h"
#include "kernels/ops/optimizer.h"
#include "kernels/ops/reduction.h"

namespace weft::cuda {
namespace {

using tuning::kSumBlock;
constexpr int kThreads = tuning::kElementThreads;

int64_t sum_blocks(const Tensor& x) { return (x.elements() + kSumBlock - 1) / kSumBlock; }
size_t partial_bytes(int64_t blocks) {
  return scratch_bytes([&](Scratch& s) { s.take<double>(blocks); });
}

// Parts of one dtype that one launch adds up. Their blocks have consecutive numbers.
template <class T>
struct PartTable {
  static constexpr int kMost = 64;  // kernels take 4 KiB of arguments
  struct Part {
    const T* from;
    int64_t elements;
    int64_t first_block;
  };
  Part parts[kMost];
  int count = 0;
  int64_t blocks = 0;

  void add(const Tensor& part) {
    parts[count++] = {elements_of<T>(part), part.elements(), blocks};
    blocks += sum_blocks(part);
  }
  __device__ const Part& of_block(int64_t block) const {
    int part = 0;
    while (part + 1 < count && parts[part + 1].first_block <= block) ++part;
    return parts[part];
  }
};

// partial[block] = the sum over its elements, or over their squares. In f64, where squares of f32 are exact.
template <bool kSquares, class T>
__global__ void __launch_bounds__(kThreads) sum_parts(const __grid_constant__ PartTable<T> table, double* partial) {
  constexpr int N = kVector<T>;
  __shared__ double words[kThreads / kWarp];
  const auto& part = table.of_block(blockIdx.x);
  const int64_t begin = (blockIdx.x - part.first_block) * kSumBlock;
  const T* const from = part.from + begin;
  const int64_t left = min(kSumBlock, part.elements - begin);
  const bool aligned = vectorised(from, N);
  double sums[N] = {};
  for (int64_t first = threadIdx.x * N; first < kSumBlock; first += kThreads * N) {
    float x[N];
    if (aligned) {
      load_piece<true>(from + first, left - first, x);
    } else {
      load_piece<false>(from + first, left - first, x);
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const double v = x[i];
      sums[i] += kSquares ? v * v : v;
    }
  }
#pragma unroll
  for (int i = 1; i < N; ++i) sums[0] += sums[i];
  const double sum = row_sum(sums[0], words);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// One block: out (+)= the sum of all partial sums.
__global__ void __launch_bounds__(kThreads)
    sum_blocks_of_parts(const double* partial, int64_t n, double* out, bool add) {
  __shared__ double words[kThreads / kWarp];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += partial[i];
  sum = row_sum(sum, words);
  if (threadIdx.x == 0) *out = add ? *out + sum : sum;
}

// out (+)= the sum over all parts: first of their blocks, one after the other in `partial`. A launch takes as many
// parts as have one dtype and fit its table.
template <bool kSquares>
void sum(const Stream& stream, std::span<const Tensor> parts, const Tensor& out, Accumulate mode,
         double* const partial) {
  int64_t done = 0;
  while (!parts.empty()) {
    with_device_type(parts.front().dtype(), [&]<class T>() {
      PartTable<T> table;
      const DType dtype = parts.front().dtype();
      for (; !parts.empty() && table.count < table.kMost && parts.front().dtype() == dtype; parts = parts.subspan(1)) {
        table.add(parts.front());
      }
      launch(stream, sum_parts<kSquares, T>, static_cast<unsigned>(table.blocks), kThreads, 0, table, partial + done);
      done += table.blocks;
    });
  }
  launch(stream, sum_blocks_of_parts, 1, kThreads, 0, partial, done, out.device_data<double>(),
         mode == Accumulate::Add);
}

int64_t all_blocks(std::span<const Tensor> parts) {
  int64_t blocks = 0;
  for (const Tensor& part : parts) blocks += sum_blocks(part);
  return blocks;
}

}  // namespace

template <>
size_t CudaBackend::workspace(const SumRows& args) const {
  return column_sums_bytes(args.x.rows(), args.x.columns());
}

template <>
void CudaBackend::run(const SumRows& args, Scratch scratch) {
  column_sums(stream(), args.x, args.out, args.mode, scratch);
}

template <>
size_t CudaBackend::workspace(const SumAll& args) const {
  return partial_bytes(sum_blocks(args.x));
}

template <>
void CudaBackend::run(const SumAll& args, Scratch scratch) {
  sum<false>(stream(), {&args.x, 1}, args.out, args.mode, scratch.take<double>(sum_blocks(args.x)));
}

template <>
size_t CudaBackend::workspace(const SquareSum& args) const {
  return partial_bytes(all_blocks(args.parts));
}

template <>
void CudaBackend::run(const SquareSum& args, Scratch scratch) {
  sum<true>(stream(), args.parts, args.out, args.mode, scratch.take<double>(all_blocks(args.parts)));
}

}  // namespace weft::cuda
