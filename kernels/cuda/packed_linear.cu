// SPDX-License-Identifier: Apache-2.0
// Products with packed weights, for decoding. A row's bits depend on the row and the weight alone, not on the other
// rows.
#include <algorithm>

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/pieces.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/tuning.h"
#include "kernels/formulas/packed_weight.h"

namespace weft::cuda {
namespace {

constexpr int kWarps = tuning::kPackedWarps, kRowsAtOnce = tuning::kPackedRows;

// Elements in 16 bytes of a packed weight.
template <class W>
constexpr int kPackedVector = 16 / sizeof(W);

constexpr int kMostStep = kPackedVector<int8_t>;  // elements; rows are filled up to a multiple of this

// A packed weight: for int8 the scale of each output, and then rows [out, stride] in the order of LaneShare.
template <class W>
struct PackedParts {
  float* scales = nullptr;
  W* rows = nullptr;
  int64_t stride;
  size_t bytes;
  PackedParts(int64_t out, int64_t in, Scratch memory) : stride((in + kMostStep - 1) / kMostStep * kMostStep) {
    if constexpr (sizeof(W) == 1) scales = memory.take<float>(out);
    rows = memory.take<W>(out * stride);
    bytes = memory.taken();
  }
};

// A warp reads a row in blocks of kStep elements a lane: whole vectors both of X, the dtype of x and of the weight that
// was packed, and of the packed W. Neighbouring lanes read neighbouring vectors of x, so the elements of a lane lie
// apart in x; the packed row has them in the order in which lanes read neighbouring vectors of it. The last block of a
// row has fewer lanes.
template <class X, class W>
struct LaneShare {
  static constexpr int kStep = std::max(kVector<X>, kPackedVector<W>);
  static constexpr int kBlock = kWarp * kStep;
  int64_t begin;  // where the block begins, in x as in the packed row
  int lanes, lane = static_cast<int>(threadIdx.x);

  __device__ LaneShare(int64_t begin, int64_t stride)
      : begin(begin), lanes(static_cast<int>(min(int64_t{kBlock}, stride - begin)) / kStep) {}
  // Lanes beyond those of the last block read zeros, at a place of their own.
  __device__ bool inside() const { return lane < lanes; }
  __device__ int64_t packed(int vector) const { return begin + (lanes * vector + lane) * kPackedVector<W>; }

  // Loads this lane's elements of a row of x that has `in` elements, and zeros beyond the row.
  __device__ void load(const X* row, int64_t in, bool vectors, float (&to)[kStep]) const {
#pragma unroll
    for (int v = 0; v < kStep / kVector<X>; ++v) {
      const int64_t at = begin + (lanes * v + lane) * kVector<X>, left = inside() ? in - at : 0;
      float part[kVector<X>];
      vectors ? load_piece<true>(row + at, left, part) : load_piece<false>(row + at, left, part);
#pragma unroll
      for (int i = 0; i < kVector<X>; ++i) to[v * kVector<X> + i] = part[i];
    }
  }
};

// Calls f.template operator()<W>() with the type of packed elements.
template <class F>
decltype(auto) with_packed_type(WeightFormat format, F&& f) {
  switch (format) {
    case WeightFormat::F32:
      return f.template operator()<float>();
    case WeightFormat::Bf16:
      return f.template operator()<__nv_bfloat16>();
    case WeightFormat::Int8:
      return f.template operator()<int8_t>();
    case WeightFormat::Own:  // pack_weight() replaces Own for f32 and bf16, so f64 is left
      break;
  }
  throw UnsupportedType("f64 weights are not packed on CUDA devices");
}

__device__ float sum_of_warp(float v) {
  return warp_reduce(v, [](float a, float b) { return a + b; });
}

// Loads 16 bytes of a packed weight as floats.
template <class W>
__device__ void load_packed(const W* from, float (&to)[kPackedVector<W>]) {
  if constexpr (sizeof(W) == 1) {
    const uint4 bits = *reinterpret_cast<const uint4*>(from);
    const uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 16; ++i) to[i] = static_cast<float>(static_cast<int8_t>(words[i / 4] >> (8 * (i % 4))));
  } else {
    load_vector(from, to);
  }
}
template <class W>
__device__ void store_packed(W* to, const float (&from)[kPackedVector<W>]) {
  if constexpr (sizeof(W) == 1) {
    uint32_t words[4] = {};
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      words[i / 4] |= static_cast<uint32_t>(static_cast<uint8_t>(__float2int_rn(from[i]))) << (8 * (i % 4));
    }
    *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
  } else {
    store_vector(to, from);
  }
}

// The warp computes the scale of one row together.
template <class W, class T>
__device__ float int8_scale(const T* row, int64_t in, int64_t stride, bool vectors) {
  using Share = LaneShare<T, W>;
  formulas::Int8Range range;
  for (int64_t begin = 0; begin < stride; begin += Share::kBlock) {
    float w[Share::kStep];
    Share(begin, stride).load(row, in, vectors, w);
#pragma unroll
    for (const float x : w) range.add(x);
  }
  range.largest = warp_reduce(range.largest, [](float a, float b) { return fmaxf(a, b); });
  range.finite = sum_of_warp(range.finite);
  return range.scale();
}

// A warp packs the row of one output.
template <class T, class W>
__global__ void pack_weight_rows(const T* weight, int64_t out, int64_t in, bool vectors, PackedParts<W> to) {
  using Share = LaneShare<T, W>;
  constexpr int kN = kPackedVector<W>;
  const int64_t o = int64_t{blockIdx.x} * kWarps + threadIdx.y;
  if (o >= out) return;
  const T* row = weight + o * in;
  float inverse = 1;
  if constexpr (sizeof(W) == 1) {
    const float scale = int8_scale<W>(row, in, to.stride, vectors);
    if (threadIdx.x == 0) to.scales[o] = scale;
    inverse = formulas::inverse_scale(scale);
  }
  for (int64_t begin = 0; begin < to.stride; begin += Share::kBlock) {
    const Share share(begin, to.stride);
    float w[Share::kStep];
    share.load(row, in, vectors, w);
    if (!share.inside()) continue;
#pragma unroll
    for (int v = 0; v < Share::kStep / kN; ++v) {
      float part[kN];
#pragma unroll
      for (int i = 0; i < kN; ++i) part[i] = w[v * kN + i] * inverse;
      store_packed(to.rows + o * to.stride + share.packed(v), part);
    }
  }
}

struct PackedProductShape {
  int64_t rows, in, out;
  bool vectors;  // rows of x can be read 16 bytes at a time
  Activation activation;
};

static_assert(EnumNames<Activation>::kNames.size() == 5, "activated_by() lists every activation");
__device__ float activated_by(Activation activation, float v) {
  switch (activation) {
    case Activation::None:
      break;
    case Activation::Relu:
      return activated<Activation::Relu>(v);
    case Activation::Gelu:
      return activated<Activation::Gelu>(v);
    case Activation::GeluTanh:
      return activated<Activation::GeluTanh>(v);
    case Activation::Silu:
      return activated<Activation::Silu>(v);
  }
  return v;
}

// A warp multiplies one output's weights with up to kRowsAtOnce rows of x: a lane sums its share in its order, then the
// lanes are added as a tree. An activation reads the sum rounded to y's dtype, as a product that keeps `pre` does.
template <class X, class W, class Y>
__global__ void packed_linear_rows(const X* x, PackedParts<W> weight, const X* bias, Y* y, PackedProductShape p) {
  using Share = LaneShare<X, W>;
  constexpr int kN = kPackedVector<W>;
  const int64_t o = int64_t{blockIdx.x} * kWarps + threadIdx.y, first = int64_t{blockIdx.y} * kRowsAtOnce;
  if (o >= p.out) return;
  float sums[kRowsAtOnce] = {};
  for (int64_t begin = 0; begin < weight.stride; begin += Share::kBlock) {
    const Share share(begin, weight.stride);
    if (!share.inside()) break;
    float w[Share::kStep / kN][kN];
#pragma unroll
    for (int v = 0; v < Share::kStep / kN; ++v) {
      load_packed(weight.rows + o * weight.stride + share.packed(v), w[v]);
    }
#pragma unroll
    for (int r = 0; r < kRowsAtOnce; ++r) {
      if (first + r >= p.rows) break;
      float v[Share::kStep];
      share.load(x + (first + r) * p.in, p.in, p.vectors, v);
#pragma unroll
      for (int j = 0; j < Share::kStep; ++j) sums[r] += v[j] * w[j / kN][j % kN];
    }
  }
#pragma unroll
  for (int r = 0; r < kRowsAtOnce; ++r) {
    if (first + r >= p.rows) break;
    float sum = sum_of_warp(sums[r]);
    if (threadIdx.x != 0) continue;
    if constexpr (sizeof(W) == 1) sum *= weight.scales[o];
    if (bias) sum += to_float(bias[o]);
    const Y rounded = from_float<Y>(sum);
    Y* to = y + (first + r) * p.out + o;
    *to = p.activation == Activation::None ? rounded : from_float<Y>(activated_by(p.activation, to_float(rounded)));
  }
}

}  // namespace

size_t CudaBackend::packed_bytes(int64_t out, int64_t in, WeightFormat format) const {
  return with_packed_type(format, [&]<class W>() { return PackedParts<W>(out, in, {}).bytes; });
}

template <>
void CudaBackend::run(const PackWeight& args) {
  const int64_t in = args.weight.columns(), out = args.weight.elements() / in;
  with_packed_type(args.format, [&]<class W>() {
    const PackedParts<W> to(out, in, Scratch(args.data.device_raw()));
    with_device_type(args.weight.dtype(), [&]<class T>() {
      launch(stream(), pack_weight_rows<T, W>, blocks_for(out, kWarps), dim3(kWarp, kWarps), 0,
             elements_of<const T>(args.weight), out, in, vectorised(elements_of<const T>(args.weight), in), to);
    });
  });
}

void CudaBackend::packed_linear(const LinearForward& args) {
  const PackedLayout& packed = *args.packed;
  const dim3 grid(blocks_for(packed.out, kWarps), blocks_for(args.y.rows(), kRowsAtOnce)), block(kWarp, kWarps);
  with_packed_type(packed.format, [&]<class W>() {
    const PackedParts<W> weight(packed.out, packed.in, Scratch(packed.data.device_raw()));
    with_device_type(args.x.dtype(), [&]<class X>() {
      const X* x = elements_of<const X>(args.x);
      const X* bias = elements_of<const X>(args.bias);
      const PackedProductShape product{args.y.rows(), packed.in, packed.out, vectorised(x, packed.in), args.activation};
      const auto into = [&]<class Y>() {
        launch(stream(), packed_linear_rows<X, W, Y>, grid, block, 0, x, weight, bias, elements_of<Y>(args.y), product);
      };
      if (args.y.dtype() == DType::F32) {
        into.template operator()<float>();
      } else {
        into.template operator()<__nv_bfloat16>();
      }
    });
  });
}

}  // namespace weft::cuda
