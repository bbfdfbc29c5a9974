// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "kernels/cuda/column_sums.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/heads.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/tuning.h"

namespace weft::cuda {
namespace {

// A head of a row by `lanes` lanes. y may be x, if there is no norm; values are then left out: of_group counts the
// heads of a group that are worked on.
template <class T, int N, int K>
__global__ void __launch_bounds__(kHeadThreads)
    turn_heads(const HeadArgs<T> args, const T* x, T* y, int lanes, int of_group, int64_t columns, float sign) {
  const int heads = args.groups * of_group;
  const int64_t item = thread_index() / lanes, row = item / heads;
  const bool here = row < args.rows;
  const HeadPlace place = place_of(args, static_cast<int>(item % heads), of_group);
  const int64_t at = row * columns + place.first;
  HeadPart<T, N, K> head(args, static_cast<int>(threadIdx.x) % lanes, lanes);
  head.load(x + at, here);
  const float rstd = args.normed ? rstd_of(args, place.kind, row, here, head) : 1.0f;
  HeadPart<T, N, K> turned = head;
  if (args.normed) turned.multiply(rstd), turned.weigh(gammas_of(args, place));
  turned.turn(args, row, here && place.kind != HeadKind::Value, sign);
  (place.kind == HeadKind::Value ? head : turned).store(y + at, here);
}

// The gradient of one head: d = rotation'(dy), g = d gamma, n = x rstd.
template <class T, int N, int K>
struct HeadGradient {
  HeadPart<T, N, K> d, g, n;
  float rstd;

  __device__ HeadGradient(const HeadArgs<T>& args, const HeadPlace& place, const T* dy, const T* x, int64_t row,
                          bool here, int lane, int lanes)
      : d(args, lane, lanes), g(d), n(d) {
    d.load(dy, here);
    d.turn(args, row, here, -1);
    n.load(x, here);
    rstd = rstd_of(args, place.kind, row, here, n);
    n.multiply(rstd);
    g = d;
    g.weigh(gammas_of(args, place));
  }
};

// Sums of a gamma's gradient over a block's rows: [runs, columns of the gamma], null if they are not wanted.
struct GammaRuns {
  float* of[2] = {};  // by HeadKind
  int64_t columns[2] = {};

  GammaRuns(const HeadsBackward& args, int64_t runs, Scratch& scratch) {
    take(0, args.dquery_gamma, runs, scratch), take(1, args.dkey_gamma, runs, scratch);
  }

 private:
  void take(int kind, const Gradient& gradient, int64_t runs, Scratch& scratch) {
    if (!gradient) return;
    columns[kind] = gradient.tensor.elements();
    of[kind] = scratch.take<float>(runs * columns[kind]);
  }
};

// Adds up the parts of the block's heads of one kind, warp by warp, and writes the sum. `words`: `dim` for each warp.
template <class T, int N, int K>
__device__ void store_head_sum(HeadPart<T, N, K> sum, bool mine, float* words, float* to, int lanes, int dim) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp, warps = static_cast<int>(blockDim.x) / kWarp;
  __syncthreads();
  HeadPart<T, N, K>::each([&](int which, int k) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      float x = mine && sum.has(which, k) ? sum.v[which][k][i] : 0.0f;
      for (int distance = lanes; distance < kWarp; distance *= 2) x += __shfl_xor_sync(kAllLanes, x, distance);
      sum.v[which][k][i] = x;
    }
    if (static_cast<int>(threadIdx.x) % kWarp >= lanes || !sum.has(which, k)) return;
    float* const mine_of = words + warp * dim + sum.column(which, k, 0);
    if constexpr (N == 1) {
      *mine_of = sum.v[which][k][0];
    } else {
#pragma unroll
      for (int i = 0; i < N; i += 4) {
        const float(&v)[N] = sum.v[which][k];
        *reinterpret_cast<float4*>(mine_of + i) = make_float4(v[i], v[i + 1], v[i + 2], v[i + 3]);
      }
    }
  });
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < dim; c += static_cast<int>(blockDim.x)) {
    float total = 0;
    for (int w = 0; w < warps; ++w) total += words[w * dim + c];
    to[c] = total;
  }
}

// A block has a run of rows, and each of its groups of lanes one head of them: grid.y is as many blocks as there are
// heads for.
template <class T, int N, int K>
__global__ void __launch_bounds__(kHeadThreads)
    head_gradients(const HeadArgs<T> args, T* d, const T* x, const GammaRuns runs, int lanes, int run_rows,
                   int64_t columns) {
  extern __shared__ float words[];
  const int of_group = args.queries + args.keys, heads = args.groups * of_group;
  const int head = static_cast<int>((blockIdx.y * blockDim.x + threadIdx.x) / lanes);
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const HeadPlace place = place_of(args, min(head, heads - 1), of_group);
  const int64_t begin = int64_t{blockIdx.x} * run_rows, end = min(begin + run_rows, args.rows);
  HeadPart<T, N, K> sum(args, lane, lanes);
  sum.clear();
  for (int64_t row = begin; row < end; ++row) {
    const bool here = head < heads;
    const int64_t at = row * columns + place.first;
    HeadGradient<T, N, K> gradient(args, place, d + at, x + at, row, here, lane, lanes);
    const float count = place.kind == HeadKind::Query ? args.query_count : args.key_count;
    const float along = args.wide ? args.products[2 * row + static_cast<int>(place.kind)] : gradient.g.dot(gradient.n);
    HeadPart<T, N, K> dx = gradient.g;
    HeadPart<T, N, K>::each([&](int which, int k) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float n = gradient.n.v[which][k][i];
        sum.v[which][k][i] += gradient.d.v[which][k][i] * n;
        dx.v[which][k][i] = formulas::head_norm_gradient(gradient.g.v[which][k][i], n, gradient.rstd, along / count);
      }
    });
    dx.store(d + at, here);
  }
#pragma unroll
  for (int kind = 0; kind < 2; ++kind) {
    if (!runs.of[kind]) continue;
    const bool mine = head < heads && place.kind == static_cast<HeadKind>(kind);
    if (!args.wide) {
      float* to = runs.of[kind] + (int64_t{blockIdx.x} * gridDim.y + blockIdx.y) * runs.columns[kind];
      store_head_sum(sum, mine, words, to, lanes, args.dim);
    } else if (mine) {
      float* to = runs.of[kind] + int64_t{blockIdx.x} * runs.columns[kind] + int64_t{place.number} * args.dim;
      HeadPart<T, N, K>::each([&](int which, int k) {
        if (!sum.has(which, k)) return;
#pragma unroll
        for (int i = 0; i < N; ++i) to[sum.column(which, k, i)] = sum.v[which][k][i];
      });
    }
  }
}

// One row by one block: the sums over its queries and over its keys of x^2, or of g n.
template <class T, int N, int K, bool kProducts>
__global__ void __launch_bounds__(kHeadThreads)
    sum_of_heads(const HeadArgs<T> args, const T* dy, const T* x, float* sums, int lanes, int64_t columns) {
  __shared__ float words[kHeadThreads / kWarp][2];
  const int of_group = args.queries + args.keys, heads = args.groups * of_group;
  const int64_t row = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x) % lanes, group = static_cast<int>(threadIdx.x) / lanes;
  float total[2] = {};
  const int groups = static_cast<int>(blockDim.x) / lanes;
  for (int first = 0; first < heads; first += groups) {
    const int head = first + group;
    const bool here = head < heads;
    const HeadPlace place = place_of(args, min(head, heads - 1), of_group);
    const int64_t at = row * columns + place.first;
    float part;
    if constexpr (kProducts) {
      const HeadGradient<T, N, K> gradient(args, place, dy + at, x + at, row, here, lane, lanes);
      part = gradient.g.dot(gradient.n);
    } else {
      HeadPart<T, N, K> head_of(args, lane, lanes);
      head_of.load(x + at, here);
      part = head_of.dot(head_of);
    }
    if (here) total[static_cast<int>(place.kind)] += part;
  }
  const auto add = [](float a, float b) { return a + b; };
  for (int kind = 0; kind < 2; ++kind) {
    const float sum = warp_reduce(lane == 0 ? total[kind] : 0.0f, add);
    if (threadIdx.x % kWarp == 0) words[threadIdx.x / kWarp][kind] = sum;
  }
  __syncthreads();
  if (threadIdx.x >= 2) return;
  float sum = 0;
  for (unsigned w = 0; w < blockDim.x / kWarp; ++w) sum += words[w][threadIdx.x];
  sums[2 * row + threadIdx.x] = sum;
}

// Threads of a block for the heads of a row: whole warps, no more than they need.
int threads_for(int heads, int lanes) { return std::min(kHeadThreads, (heads * lanes + kWarp - 1) / kWarp * kWarp); }

// Rows of a run, and blocks for the heads of a row.
struct HeadRuns {
  int64_t count;
  int rows, threads;
  unsigned blocks;
  HeadRuns(int64_t all, int heads, int lanes)
      : count(std::clamp<int64_t>(all / tuning::kNormRunRows, 1, tuning::kNormRuns)),
        rows(static_cast<int>((all + count - 1) / count)),
        threads(threads_for(heads, lanes)),
        blocks(blocks_for(int64_t{heads} * lanes, threads)) {}
};

template <class T>
void launch_gradients(const Stream& stream, const HeadsBackward& args, Scratch& scratch) {
  const HeadArgs<T> heads(args.d, args.row, args.norm, args.rotary, args.products);
  T* d = elements_of<T>(args.d);
  const T* x = elements_of<const T>(args.x);
  with_head_part(heads, heads.aligned(d, x), [&]<int N, int K>(int lanes) {
    const HeadRuns runs(heads.rows, heads.groups * (heads.queries + heads.keys), lanes);
    const int64_t partial_rows = runs.count * (heads.wide ? 1 : runs.blocks);
    const GammaRuns sums(args, partial_rows, scratch);
    const size_t shared = heads.wide ? 0 : static_cast<size_t>(runs.threads / kWarp * heads.dim) * sizeof(float);
    launch(stream, head_gradients<T, N, K>, dim3(static_cast<unsigned>(runs.count), runs.blocks), runs.threads, shared,
           heads, d, x, sums, lanes, runs.rows, heads.columns());
    for (int kind = 0; kind < 2; ++kind) {
      const Gradient& to = kind == 0 ? args.dquery_gamma : args.dkey_gamma;
      if (!to) continue;
      const std::array one{PartialSums{sums.of[kind], to.tensor.device_data<float>(), to.mode}};
      add_partial_sums(stream, one, partial_rows, sums.columns[kind]);
    }
  });
}

template <class T>
void launch_turn(const Stream& stream, const HeadArgs<T>& heads, const T* x, T* y, int of_group, float sign) {
  with_head_part(heads, heads.aligned(x, y), [&]<int N, int K>(int lanes) {
    launch(stream, turn_heads<T, N, K>, blocks_for(heads.rows * heads.groups * of_group * lanes, kHeadThreads),
           kHeadThreads, 0, heads, x, y, lanes, of_group, heads.columns(), sign);
  });
}

template <bool kProducts, class T>
void launch_sums(const Stream& stream, const HeadArgs<T>& heads, const T* dy, const T* x, const Tensor& sums) {
  with_head_part(heads, heads.aligned(dy, x), [&]<int N, int K>(int lanes) {
    const int threads = threads_for(heads.groups * (heads.queries + heads.keys), lanes);
    launch(stream, sum_of_heads<T, N, K, kProducts>, static_cast<unsigned>(heads.rows), threads, 0, heads, dy, x,
           sums.device_data<float>(), lanes, heads.columns());
  });
}

}  // namespace

template <>
void CudaBackend::run(const HeadsForward& args) {
  with_device_type(args.x.dtype(), [&]<class T>() {
    const HeadArgs<T> heads(args.x, args.row, args.norm, args.rotary, {});
    T* x = elements_of<T>(args.x);
    const int turned = heads.queries + heads.keys;
    if (!heads.normed) return launch_turn(stream(), heads, x, x, turned, 1);
    launch_turn(stream(), heads, x, elements_of<T>(args.y), turned + heads.values, 1);
  });
}

template <>
void CudaBackend::run(const HeadSquares& args) {
  with_device_type(args.x.dtype(), [&]<class T>() {
    const T* x = elements_of<const T>(args.x);
    launch_sums<false>(stream(), HeadArgs<T>(args.x, args.row, {}, {}, {}), x, x, args.sums);
  });
}

template <>
void CudaBackend::run(const HeadProducts& args) {
  with_device_type(args.dy.dtype(), [&]<class T>() {
    launch_sums<true>(stream(), HeadArgs<T>(args.dy, args.row, args.norm, args.rotary, {}),
                      elements_of<const T>(args.dy), elements_of<const T>(args.x), args.sums);
  });
}

// Enough for heads that are read one element at a time, which take more blocks.
template <>
size_t CudaBackend::workspace(const HeadsBackward& args) const {
  const int heads = static_cast<int>(args.row.groups * (args.row.queries + args.row.keys));
  const HeadRuns runs(args.d.rows(), heads, head_lanes(static_cast<int>(args.row.head_dim + 1) / 2, 1));
  const int64_t rows = runs.count * (args.norm.scope == QkNorm::Width ? 1 : runs.blocks);
  return scratch_bytes([&](Scratch& s) { GammaRuns(args, rows, s); });
}

template <>
void CudaBackend::run(const HeadsBackward& args, Scratch scratch) {
  with_device_type(args.d.dtype(), [&]<class T>() {
    if (args.norm.scope != QkNorm::None) return launch_gradients<T>(stream(), args, scratch);
    const HeadArgs<T> heads(args.d, args.row, args.norm, args.rotary, {});
    T* d = elements_of<T>(args.d);
    launch_turn(stream(), heads, d, d, heads.queries + heads.keys, -1);
  });
}

}  // namespace weft::cuda
