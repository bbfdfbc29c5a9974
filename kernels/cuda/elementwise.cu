// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/tuning.h"
#include "kernels/ops/elementwise.h"

namespace weft::cuda {
namespace {

constexpr int kThreads = tuning::kElementThreads;

// `pattern`: 16 bytes of values.
template <class T>
__global__ void fill_elements(T* to, int64_t n, uint4 pattern, T value) {
  constexpr int N = kVector<T>;
  const int64_t first = thread_index() * N;
  if (first + N <= n && reinterpret_cast<uintptr_t>(to) % 16 == 0) {
    *reinterpret_cast<uint4*>(to + first) = pattern;
  } else {
    for (int64_t i = first; i < min(first + N, n); ++i) to[i] = value;
  }
}

template <class T>
void fill_with(const Stream& stream, T* to, int64_t n, T value) {
  uint4 pattern;
  std::fill_n(reinterpret_cast<T*>(&pattern), kVector<T>, value);
  launch(stream, fill_elements<T>, blocks_for(n, kThreads * kVector<T>), kThreads, 0, to, n, pattern, value);
}

// Elements of a piece: as many as 16 bytes of the narrower of two dtypes hold.
template <class A, class B>
constexpr int kPiece = std::max(kVector<A>, kVector<B>);

template <bool kAligned, class From, class To>
__global__ void convert_elements(const From* from, To* to, int64_t n) {
  constexpr int N = kPiece<From, To>;
  const int64_t first = thread_index() * N;
  float x[N];
  load_piece<kAligned>(from + first, n - first, x);
  store_piece<kAligned>(to + first, n - first, x);
}

template <bool kAligned, class X, class T>
__global__ void add_scaled_elements(const X* x, float scale, T* y, int64_t n) {
  constexpr int N = kPiece<X, T>;
  const int64_t first = thread_index() * N;
  float a[N], b[N];
  load_piece<kAligned>(x + first, n - first, a);
  load_piece<kAligned>(y + first, n - first, b);
#pragma unroll
  for (int i = 0; i < N; ++i) b[i] += scale * a[i];
  store_piece<kAligned>(y + first, n - first, b);
}

template <bool kAligned, class R, class T>
__global__ void add_to_rows(const R* row, T* y, int64_t rows, int width) {
  constexpr int N = kPiece<R, T>;
  const int64_t at = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (at >= rows) return;  // a whole warp returns
  for_pieces<false, N>(width, [&](int first) {
    float a[N], b[N];
    T* const to = y + at * width + first;
    load_piece<kAligned>(row + first, width - first, a);
    load_piece<kAligned>(to, width - first, b);
#pragma unroll
    for (int i = 0; i < N; ++i) b[i] += a[i];
    store_piece<kAligned>(to, width - first, b);
  });
}

// Rows of `units` units U: the largest unit that divides a row and aligns its beginning.
template <class U>
__global__ void gather_units(const U* from, const int32_t* index, U* to, int64_t rows, int64_t units) {
  const int64_t at = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (at >= rows) return;
  const U* const source = from + index[at] * units;
  for (int64_t u = threadIdx.x; u < units; u += blockDim.x) to[at * units + u] = source[u];
}

// parts [n, rows, part_units] -> to [rows, units]
template <class U>
__global__ void join_units(const U* parts, U* to, int64_t rows, int64_t part_units, int64_t units) {
  const int64_t at = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (at >= rows) return;
  for (int64_t u = threadIdx.x; u < units; u += blockDim.x) {
    const int64_t part = u / part_units;
    to[at * units + u] = parts[(part * rows + at) * part_units + u % part_units];
  }
}

bool on_vector(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

template <class F>
void with_alignment(bool aligned, F&& f) {
  if (aligned) return f.template operator()<true>();
  f.template operator()<false>();
}

// Calls f.template operator()<U>() with the unit that is moved: 16 bytes, or an element.
template <class F>
void with_unit(bool vectors, DType dtype, F&& f) {
  if (vectors) return f.template operator()<uint4>();
  if (size_of(dtype) == 2) return f.template operator()<uint16_t>();
  if (size_of(dtype) == 4) return f.template operator()<uint32_t>();
  f.template operator()<uint64_t>();
}

template <class U>
const U* units_of(const Tensor& t) {
  return reinterpret_cast<const U*>(t.device_raw());
}

}  // namespace

template <>
void CudaBackend::run(const Fill& args) {
  const int64_t n = args.t.elements();
  switch (args.t.dtype()) {
    case DType::F32:
      return fill_with(stream(), args.t.device_data<float>(), n, static_cast<float>(args.value));
    case DType::BF16:
      return fill_with(stream(), reinterpret_cast<uint16_t*>(args.t.device_data<BFloat16>()), n,
                       BFloat16(static_cast<float>(args.value)).bits);
    case DType::F64:
      return fill_with(stream(), args.t.device_data<double>(), n, args.value);
    case DType::I32:
      return fill_with(stream(), args.t.device_data<int32_t>(), n, static_cast<int32_t>(args.value));
    case DType::I64:
      return fill_with(stream(), args.t.device_data<int64_t>(), n, static_cast<int64_t>(args.value));
  }
}

template <>
void CudaBackend::run(const Convert& args) {
  const auto& [from, to] = args;
  if (from.dtype() == to.dtype()) {
    if (from.device_raw() == to.device_raw()) return;
    select_device(stream().device());
    return check(
        cudaMemcpyAsync(to.device_raw(), from.device_raw(), from.bytes(), cudaMemcpyDeviceToDevice, stream().get()),
        "copying within the device");
  }
  with_device_type(from.dtype(), [&]<class From>() {
    with_device_type(to.dtype(), [&]<class To>() {
      if constexpr (!std::is_same_v<From, To>) {
        const int64_t n = from.elements();
        with_alignment(on_vector(from.device_raw()) && on_vector(to.device_raw()), [&]<bool kAligned>() {
          launch(stream(), convert_elements<kAligned, From, To>, blocks_for(n, kThreads * kPiece<From, To>), kThreads,
                 0, elements_of<From>(from), elements_of<To>(to), n);
        });
      }
    });
  });
}

template <>
void CudaBackend::run(const AddScaled& args) {
  const int64_t n = args.y.elements();
  const auto add = [&]<class X, class T>(const X* x, T* y) {
    with_alignment(on_vector(x) && on_vector(y), [&]<bool kAligned>() {
      launch(stream(), add_scaled_elements<kAligned, X, T>, blocks_for(n, kThreads * kPiece<X, T>), kThreads, 0, x,
             static_cast<float>(args.scale), y, n);
    });
  };
  if (args.x.dtype() != args.y.dtype()) return add(elements_of<__nv_bfloat16>(args.x), elements_of<float>(args.y));
  with_device_type(args.y.dtype(), [&]<class T>() { add(elements_of<T>(args.x), elements_of<T>(args.y)); });
}

template <>
void CudaBackend::run(const GatherRows& args) {
  const auto& [from, index, to] = args;
  const size_t row_bytes = static_cast<size_t>(to.columns()) * size_of(to.dtype());
  const bool vectors = row_bytes % 16 == 0 && on_vector(from.device_raw()) && on_vector(to.device_raw());
  with_unit(vectors, to.dtype(), [&]<class U>() {
    const auto units = static_cast<int64_t>(row_bytes / sizeof(U));
    const dim3 block = row_block(units, 1).block;
    launch(stream(), gather_units<U>, blocks_for(to.rows(), block.y), block, 0, units_of<U>(from),
           index.device_data<int32_t>(), const_cast<U*>(units_of<U>(to)), to.rows(), units);
  });
}

template <>
void CudaBackend::run(const JoinColumns& args) {
  const auto& [parts, to] = args;
  const size_t size = size_of(to.dtype());
  const size_t part_bytes = static_cast<size_t>(parts.size(2)) * size, bytes = static_cast<size_t>(to.size(1)) * size;
  const bool vectors =
      part_bytes % 16 == 0 && bytes % 16 == 0 && on_vector(parts.device_raw()) && on_vector(to.device_raw());
  with_unit(vectors, to.dtype(), [&]<class U>() {
    const auto units = static_cast<int64_t>(bytes / sizeof(U)),
               part_units = static_cast<int64_t>(part_bytes / sizeof(U));
    const dim3 block = row_block(units, 1).block;
    launch(stream(), join_units<U>, blocks_for(to.rows(), block.y), block, 0, units_of<U>(parts),
           const_cast<U*>(units_of<U>(to)), to.rows(), part_units, units);
  });
}

template <>
void CudaBackend::run(const AddRow& args) {
  with_device_type(args.y.dtype(), [&]<class T>() {
    with_device_type(args.row.dtype(), [&]<class R>() {
      const R* row = elements_of<R>(args.row);
      T* y = elements_of<T>(args.y);
      const int64_t rows = args.y.rows(), width = args.y.columns();
      const dim3 block = row_block(width, kPiece<R, T>).block;
      with_alignment(vectorised(row, width) && vectorised(y, width), [&]<bool kAligned>() {
        launch(stream(), add_to_rows<kAligned, R, T>, blocks_for(rows, block.y), block, 0, row, y, rows, width);
      });
    });
  });
}

}  // namespace weft::cuda
