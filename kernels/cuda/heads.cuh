// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/cuda/attention/rows.h"
#include "kernels/cuda/pieces.cuh"
#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/tuning.h"
#include "kernels/formulas/heads.h"
#include "kernels/formulas/norm.h"
#include "kernels/ops/heads.h"

// How neighbouring lanes hold one head of a row. A lane has pieces of N elements of the head's first half and those at
// the same places of its second half, so that it has both elements of every pair it turns, whichever form pairs have.
namespace weft::cuda {

using tuning::kHeadThreads;
enum class HeadKind : int { Query, Key, Value };

// The arguments that all operations on heads share, as kernels take them.
template <class T>
struct HeadArgs {
  const T *query_gamma, *key_gamma;                   // absent ones are null
  const float *squares, *products, *cosines, *sines;  // absent ones are null
  const int32_t* positions;
  int64_t rows;
  int groups, queries, keys, values, dim, half;  // half: columns of the first half, the larger one
  float query_count, key_count, epsilon;         // elements that a mean is over
  bool normed, wide, interleaved;

  HeadArgs(const Tensor& x, const HeadRow& row, const HeadNorm& norm, const Rotary& rotary, const Tensor& products)
      : query_gamma(elements_of<T>(norm.query_gamma)),
        key_gamma(elements_of<T>(norm.key_gamma)),
        squares(elements_of<float>(norm.squares)),
        products(elements_of<float>(products)),
        cosines(elements_of<float>(rotary.cosines)),
        sines(elements_of<float>(rotary.sines)),
        positions(elements_of<int32_t>(rotary.row_positions)),
        rows(x.rows()),
        groups(static_cast<int>(row.groups)),
        queries(static_cast<int>(row.queries)),
        keys(static_cast<int>(row.keys)),
        values(static_cast<int>(row.values)),
        dim(static_cast<int>(row.head_dim)),
        half(static_cast<int>((row.head_dim + 1) / 2)),
        query_count(static_cast<float>(norm.scope == QkNorm::Width ? norm.query_features : row.head_dim)),
        key_count(static_cast<float>(norm.scope == QkNorm::Width ? norm.key_features : row.head_dim)),
        epsilon(static_cast<float>(norm.epsilon)),
        normed(norm.scope != QkNorm::None),
        wide(norm.scope == QkNorm::Width),
        interleaved(rotary.form == RotaryForm::Interleaved) {}

  int64_t columns() const { return int64_t{groups} * (queries + keys + values) * dim; }
  bool aligned(const T* a, const T* b) const {
    const int64_t step = dim / 2;
    return dim % 2 == 0 && vectorised(a, step) && vectorised(b, step) && vectorised(query_gamma, step) &&
           vectorised(key_gamma, step) && vectorised(cosines, 4) && vectorised(sines, 4);
  }
};

// The head that a group of lanes works on.
struct HeadPlace {
  HeadKind kind;
  int number;     // among the heads of its kind
  int64_t first;  // its first column in a row
};

// The head'th head of a row whose groups count `of_group` of their heads.
template <class T>
__device__ HeadPlace place_of(const HeadArgs<T>& args, int head, int of_group) {
  const int group = head / of_group, at = head % of_group;
  const int64_t first = (int64_t{group} * (args.queries + args.keys + args.values) + at) * args.dim;
  if (at < args.queries) return {HeadKind::Query, group * args.queries + at, first};
  if (at < args.queries + args.keys) return {HeadKind::Key, group * args.keys + at - args.queries, first};
  return {HeadKind::Value, 0, first};
}

// One lane's part of a head: K pieces of N elements of each half.
template <class T, int N, int K>
class HeadPart {
 public:
  static constexpr bool kVectors = N > 1;
  float v[2][K][N];

  __device__ HeadPart(const HeadArgs<T>& args, int lane, int lanes)
      : dim_(args.dim), half_(args.half), lane_(lane), lanes_(lanes), interleaved_(args.interleaved) {}

  // The column of an element. Scalars hold the elements 2 c and 2 c + 1 of an interleaved pair.
  __device__ int column(int which, int k, int i) const {
    const int c = (lane_ + k * lanes_) * N + i;
    if (!kVectors && interleaved_) return 2 * c + which;
    return which * half_ + c;
  }
  // Whether the lane has elements of this piece.
  __device__ bool has(int which, int k) const { return (lane_ + k * lanes_) * N < half_ && column(which, k, 0) < dim_; }

  __device__ void clear() {
    each([&](int which, int k) {
#pragma unroll
      for (int i = 0; i < N; ++i) v[which][k][i] = 0;
    });
  }
  // Reads a head that begins at `from`, or zeros.
  __device__ void load(const T* from, bool here) {
    clear();
    each([&](int which, int k) {
      if (here && has(which, k)) load_some(from + column(which, k, 0), v[which][k]);
    });
  }
  __device__ void store(T* to, bool here) const {
    each([&](int which, int k) {
      if (here && has(which, k)) store_some(to + column(which, k, 0), v[which][k]);
    });
  }
  __device__ void multiply(float factor) {
    each([&](int which, int k) {
#pragma unroll
      for (int i = 0; i < N; ++i) v[which][k][i] *= factor;
    });
  }
  // v *= gamma, from the head's first gamma on; null: all 1.
  __device__ void weigh(const T* gamma) {
    if (!gamma) return;
    each([&](int which, int k) {
      float weight[N];
      if (!has(which, k)) return;
      load_some(gamma + column(which, k, 0), weight);
#pragma unroll
      for (int i = 0; i < N; ++i) v[which][k][i] *= weight[i];
    });
  }
  // The sum of v other over the head, the same bits in all of its lanes.
  __device__ float dot(const HeadPart& other) const {
    float sum = 0;
    each([&](int which, int k) {
#pragma unroll
      for (int i = 0; i < N; ++i) sum += v[which][k][i] * other.v[which][k][i];
    });
    for (int distance = lanes_ / 2; distance > 0; distance /= 2) {
      sum += __shfl_xor_sync(kAllLanes, sum, distance);
    }
    return sum;
  }
  // Turns the head's pairs by a row's angles, if the lanes have a head that turns; `sign` -1 turns them back. Whole
  // warps call it together.
  __device__ void turn(const HeadArgs<T>& args, int64_t row, bool here, float sign) {
    if (!args.cosines) return;
    const int64_t at = here ? int64_t{args.positions[row]} * half_ : 0;
    const int pairs = here ? half_ : 0;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int c = (lane_ + k * lanes_) * N;
      if constexpr (!kVectors) {
        if (c >= pairs) continue;
        formulas::rotate(v[0][k][0], v[1][k][0], args.cosines[at + c], sign * args.sines[at + c]);
      } else if (interleaved_) {
        if (c >= pairs) continue;
        turn_within(args, at + c / 2, sign, v[0][k]);
        turn_within(args, at + (half_ + c) / 2, sign, v[1][k]);
      } else {
        float cosine[N], sine[N];
        load_piece<true>(args.cosines + at + c, pairs - c, cosine);
        load_piece<true>(args.sines + at + c, pairs - c, sine);
        if (c >= pairs) continue;
#pragma unroll
        for (int i = 0; i < N; ++i) formulas::rotate(v[0][k][i], v[1][k][i], cosine[i], sign * sine[i]);
      }
    }
  }
  // Calls body(which, k) for the lane's pieces.
  template <class Body>
  __device__ static void each(Body&& body) {
#pragma unroll
    for (int which = 0; which < 2; ++which) {
#pragma unroll
      for (int k = 0; k < K; ++k) body(which, k);
    }
  }

 private:
  // Pairs that lie side by side: N / 2 of them, whose angles begin at `at`.
  __device__ static void turn_within(const HeadArgs<T>& args, int64_t at, float sign, float (&x)[N]) {
    float cosine[N / 2], sine[N / 2];
    load_floats(args.cosines + at, cosine), load_floats(args.sines + at, sine);
#pragma unroll
    for (int i = 0; i < N / 2; ++i) formulas::rotate(x[2 * i], x[2 * i + 1], cosine[i], sign * sine[i]);
  }
  template <int M>
  __device__ static void load_floats(const float* from, float (&to)[M]) {
    if constexpr (M == 4) {
      load_vector(from, to);
    } else {
      static_assert(M == 2);
      const auto two = *reinterpret_cast<const float2*>(from);
      to[0] = two.x, to[1] = two.y;
    }
  }
  __device__ static void load_some(const T* from, float (&to)[N]) {
    if constexpr (kVectors) {
      load_vector(from, to);
    } else {
      to[0] = to_float(*from);
    }
  }
  __device__ static void store_some(T* to, const float (&from)[N]) {
    if constexpr (kVectors) {
      store_vector(to, from);
    } else {
      *to = from_float<T>(from[0]);
    }
  }

  int dim_, half_, lane_, lanes_;
  bool interleaved_;
};

// 1 / sqrt(mean(x^2) + epsilon) of the head `x` of a row; of no use for values.
template <class T, class Part>
__device__ float rstd_of(const HeadArgs<T>& args, HeadKind kind, int64_t row, bool here, const Part& x) {
  float sum = 1;
  if (!args.wide) {
    sum = x.dot(x);
  } else if (here && kind != HeadKind::Value) {
    sum = args.squares[2 * row + static_cast<int>(kind)];
  }
  return formulas::inverse_deviation(sum / (kind == HeadKind::Query ? args.query_count : args.key_count), args.epsilon);
}

// The gammas of a head; null: all 1.
template <class T>
__device__ const T* gammas_of(const HeadArgs<T>& args, const HeadPlace& place) {
  if (place.kind == HeadKind::Value) return nullptr;
  const T* gamma = place.kind == HeadKind::Query ? args.query_gamma : args.key_gamma;
  return gamma && args.wide ? gamma + int64_t{place.number} * args.dim : gamma;
}

// Lanes for a head of which each takes N elements of either half, at most a warp. Two at least: neighbours exchange
// what they read of the tables.
inline int head_lanes(int half, int n) {
  int lanes = 2;
  while (lanes < kWarp && lanes * n < half) lanes *= 2;
  return lanes;
}

// Calls f.template operator()<N, K>(lanes): pieces of a lane, by vectors if heads can be read so.
template <class T, class F>
void with_head_part(const HeadArgs<T>& args, bool vectors, F&& f) {
  require<ConfigError>(args.dim <= kMaxHeadDim, "heads on CUDA devices have up to {} columns, not {}", kMaxHeadDim,
                       args.dim);
  if (vectors) return f.template operator()<kVector<T>, 1>(head_lanes(args.half, kVector<T>));
  f.template operator()<1, kMaxHeadDim / 2 / kWarp>(head_lanes(args.half, 1));
}

}  // namespace weft::cuda
