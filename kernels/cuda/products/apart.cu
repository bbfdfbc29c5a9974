// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/activated.cuh"
#include "kernels/cuda/products/apart.h"
#include "kernels/cuda/runtime/types.h"

namespace weft::cuda {
namespace {

// Each row of y becomes the bias.
template <int N, class T>
struct Spread {
  const T* bias;
  T* y;
  int64_t columns;
  __device__ void operator()(int64_t row, int64_t column, float (&v)[N]) const {
    load_whole(bias + column, v);
    store_whole(y + row * columns + column, v);
  }
};

template <int N, class T>
void spread_bias(const Stream& stream, const FusedGemm& g) {
  launch_pieces<N>(stream, Spread<N, T>{static_cast<const T*>(g.bias), static_cast<T*>(g.c), g.n}, g.m, g.n);
}

template <int N, class T>
void run_gelu(const Stream& stream, const FusedGemm& g) {
  constexpr Activation kGelu = Activation::GeluTanh;
  const T* const saved = static_cast<const T*>(g.saved);
  T* const c = static_cast<T*>(g.c);
  if (g.gelu == FusedGelu::Forward) {
    launch_pieces<N>(stream, Activated<kGelu, N, T>{saved, c, g.n, {}}, g.m, g.n);
  } else {
    launch_pieces<N>(stream, ProducerGradient<kGelu, N, T>{saved, c, g.n, {}}, g.m, g.n);
  }
}

template <class T>
bool by_vectors(const FusedGemm& g) {
  const auto fits = [&](const void* p) { return !p || vectorised(static_cast<const T*>(p), g.n); };
  return fits(g.c) && fits(g.saved) && fits(g.bias);
}

}  // namespace

FusedGemm without_a_part(const FusedGemm& gemm) {
  FusedGemm part = gemm;
  if (gemm.gelu == FusedGelu::None) {
    part.bias = nullptr, part.add = true;
    return part;
  }
  if (gemm.gelu == FusedGelu::Forward) part.c = gemm.saved;
  part.gelu = FusedGelu::None, part.saved = nullptr;
  return part;
}

void run_before(const Stream& stream, const FusedGemm& gemm) {
  if (gemm.gelu != FusedGelu::None) return;
  with_device_type(gemm.output, [&]<class T>() {
    by_vectors<T>(gemm) ? spread_bias<kVector<T>, T>(stream, gemm) : spread_bias<1, T>(stream, gemm);
  });
}

void run_after(const Stream& stream, const FusedGemm& gemm) {
  if (gemm.gelu == FusedGelu::None) return;
  with_device_type(gemm.output, [&]<class T>() {
    by_vectors<T>(gemm) ? run_gelu<kVector<T>, T>(stream, gemm) : run_gelu<1, T>(stream, gemm);
  });
}

}  // namespace weft::cuda
