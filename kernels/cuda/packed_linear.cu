// Products with packed weights: decoding. A row's bits depend on the row and the weight alone, not on the rows beside
// it.
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/types.h"
#include "kernels/cuda/vector.cuh"

namespace weft::cuda {
namespace {

constexpr int kWarps = 4;       // of a block: each has an output of its own
constexpr int kRowsAtOnce = 8;  // of x that a weight is multiplied with while it is in registers

// Elements of 16 bytes of a packed weight.
template <class W>
constexpr int kPackedVector = 16 / sizeof(W);

int64_t padded(int64_t in, int64_t vector) { return (in + vector - 1) / vector * vector; }

// The scale of each output, of int8 alone, and behind them rows [out, padded in], filled up with zeros.
template <class W>
struct PackedParts {
  float* scales = nullptr;
  W* rows = nullptr;
  int64_t stride;
  size_t bytes;
  PackedParts(int64_t out, int64_t in, Scratch memory) : stride(padded(in, kPackedVector<W>)) {
    if constexpr (sizeof(W) == 1) scales = memory.take<float>(out);
    rows = memory.take<W>(out * stride);
    bytes = memory.taken();
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
    default:
      throw UnsupportedType("f64 weights are not packed on CUDA devices");
  }
}

__device__ float sum_of_warp(float v) {
  return warp_reduce(v, [](float a, float b) { return a + b; });
}

// A warp an output. int8: s = max |w| / 127, NaN if a weight is not finite, which every product then shows.
template <class T, class W>
__global__ void pack_rows(const T* weight, int64_t out, int64_t in, PackedParts<W> to) {
  const int64_t o = int64_t{blockIdx.x} * kWarps + threadIdx.y;
  if (o >= out) return;
  const T* row = weight + o * in;
  float inverse = 0;
  if constexpr (sizeof(W) == 1) {
    float largest = 0, finite = 0;
    for (int64_t i = threadIdx.x; i < in; i += kWarp) {
      const float w = to_float(row[i]);
      largest = fmaxf(largest, fabsf(w));
      finite += w * 0.0f;
    }
    largest = warp_reduce(largest, [](float a, float b) { return fmaxf(a, b); });
    finite = sum_of_warp(finite);
    const float scale = finite == 0 ? largest / 127 : finite;
    if (threadIdx.x == 0) to.scales[o] = scale;
    inverse = scale > 0 ? 1 / scale : 0;
  }
  for (int64_t i = threadIdx.x; i < to.stride; i += kWarp) {
    const float w = i < in ? to_float(row[i]) : 0.0f;
    if constexpr (sizeof(W) == 1) {
      to.rows[o * to.stride + i] = static_cast<int8_t>(__float2int_rn(w * inverse));
    } else {
      to.rows[o * to.stride + i] = from_float<W>(w);
    }
  }
}

// 16 bytes of a packed weight, widened.
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

// N elements at `from`, which lies on a multiple of their bytes or of 16: 16 bytes at a time, or 8 where there are no
// more.
template <int N, class X>
__device__ void load_pieces(const X* from, float (&to)[N]) {
  if constexpr (N * sizeof(X) == 8) {
    const uint2 bits = *reinterpret_cast<const uint2*>(from);
    to[0] = __uint_as_float(bits.x << 16), to[1] = __uint_as_float(bits.x & 0xffff0000u);
    to[2] = __uint_as_float(bits.y << 16), to[3] = __uint_as_float(bits.y & 0xffff0000u);
  } else {
    float part[kVector<X>];
#pragma unroll
    for (int p = 0; p < N; p += kVector<X>) {
      load_vector(from + p, part);
#pragma unroll
      for (int j = 0; j < kVector<X>; ++j) to[p + j] = part[j];
    }
  }
}

// N elements of a row of x from column i, zeros beyond its end: by vectors where `vectors`, to the same values.
template <int N, class X>
__device__ void load_some(const X* row, int64_t i, int64_t in, bool vectors, float (&to)[N]) {
  if (vectors && i + N <= in) {
    load_pieces(row + i, to);
  } else {
#pragma unroll
    for (int j = 0; j < N; ++j) to[j] = i + j < in ? to_float(row[i + j]) : 0.0f;
  }
}

struct PackedProduct {
  int64_t rows, in, out;
  bool vectors;  // rows of x may be read 16 bytes at a time
  Activation activation;
};

__device__ float activated_by(Activation activation, float v) {
  switch (activation) {
    case Activation::Relu:
      return activated<Activation::Relu>(v);
    case Activation::Gelu:
      return activated<Activation::Gelu>(v);
    case Activation::GeluTanh:
      return activated<Activation::GeluTanh>(v);
    default:
      return v;
  }
}

// A warp multiplies one output's weights with up to kRowsAtOnce rows of x: lane l takes every 32nd vector of k in its
// order, then the lanes are added as a tree. What an activation reads is rounded to y's dtype first, as it is where
// `pre` is kept.
template <class X, class W, class Y>
__global__ void packed_product(const X* x, PackedParts<W> weight, const X* bias, Y* y, PackedProduct p) {
  constexpr int kN = kPackedVector<W>;
  const int64_t o = int64_t{blockIdx.x} * kWarps + threadIdx.y, first = int64_t{blockIdx.y} * kRowsAtOnce;
  if (o >= p.out) return;
  float sums[kRowsAtOnce] = {};
  for (int64_t i = int64_t{threadIdx.x} * kN; i < weight.stride; i += kWarp * kN) {
    float w[kN];
    load_packed(weight.rows + o * weight.stride + i, w);
#pragma unroll
    for (int r = 0; r < kRowsAtOnce; ++r) {
      if (first + r >= p.rows) break;
      float v[kN];
      load_some(x + (first + r) * p.in, i, p.in, p.vectors, v);
#pragma unroll
      for (int j = 0; j < kN; ++j) sums[r] += v[j] * w[j];
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

void CudaBackend::run(const PackWeight& args, Scratch) {
  const int64_t in = args.weight.columns(), out = args.weight.elements() / in;
  with_packed_type(args.format, [&]<class W>() {
    const PackedParts<W> to(out, in, Scratch(args.data.device_raw()));
    with_device_type(args.weight.dtype(), [&]<class T>() {
      launch(stream_, pack_rows<T, W>, blocks_for(out, kWarps), dim3(kWarp, kWarps), 0,
             elements_of<const T>(args.weight), out, in, to);
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
      const PackedProduct product{args.y.rows(), packed.in, packed.out, vectorised(x, packed.in), args.activation};
      const auto into = [&]<class Y>() {
        launch(stream_, packed_product<X, W, Y>, grid, block, 0, x, weight, bias, elements_of<Y>(args.y), product);
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
