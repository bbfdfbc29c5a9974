// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/pieces.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/tuning.h"
#include "kernels/formulas/optimizer.h"

namespace weft::cuda {
namespace {

using tuning::kUpdatePieces;
constexpr int kThreads = tuning::kElementThreads;
constexpr int kPiece = kVector<float>;
constexpr int kBlock = kThreads * kPiece * kUpdatePieces;  // elements of a block

// UpdateSpans on the device.
struct DeviceSpans {
  const int64_t* begins;
  const double *decays, *rates;
  int count;

  explicit DeviceSpans(const UpdateSpans& spans)
      : begins(spans.device_begins.device_data<int64_t>()),
        decays(spans.device_decays.device_data<double>()),
        rates(spans.device_rates.device_data<double>()),
        count(static_cast<int>(spans.begins.size())) {}

  // Returns the span that element i lies in: the last of [low, high] that begins at or before it.
  __device__ int find(int64_t i, int low, int high) const {
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (begins[middle] <= i) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }
};

// Finds the span of each of a thread's elements in turn. Most blocks lie in one span and search nothing.
class SpanWalk {
 public:
  // The whole block calls it; `ends` is shared memory.
  __device__ SpanWalk(const DeviceSpans& spans, int64_t first, int64_t last, int (&ends)[2]) : spans_(spans) {
    if (threadIdx.x < 2) ends[threadIdx.x] = spans.find(threadIdx.x == 0 ? first : last, 0, spans.count - 1);
    __syncthreads();
    low_ = ends[0], high_ = ends[1];
    span_ = low_;
  }
  // Call it with elements in rising order. True if element i lies in another span than the one before it.
  __device__ bool reach(int64_t i) {
    if (low_ == high_) return false;
    const int before = span_;
    span_ = spans_.find(i, span_, high_);
    return span_ != before;
  }
  __device__ double decay() const { return spans_.decays[span_]; }
  __device__ double rate() const { return spans_.rates[span_]; }

 private:
  const DeviceSpans& spans_;
  int low_, high_, span_;
};

// C: the dtype of `compute`, which is null if the operation has none; moment2 is null for a rule with one moment.
template <class C>
struct FlatBuffers {
  float* parameter;
  const float* gradient;
  float *moment1, *moment2;
  C* compute;
  int64_t elements;

  bool aligned() const {
    return vectorised(parameter, kPiece) && vectorised(gradient, kPiece) && vectorised(moment1, kPiece) &&
           vectorised(moment2, kPiece) && reinterpret_cast<uintptr_t>(compute) % (kPiece * sizeof(C)) == 0;
  }
};

template <bool kAligned, class Rule, class C>
__global__ void __launch_bounds__(kThreads)
    optimizer_update(Rule rule, const DeviceSpans spans, const FlatBuffers<C> b, const StepState* const step) {
  __shared__ int ends[2];
  if (step) {
    if (step->skip) return;
    rule.take(*step);
  }
  const int64_t begin = int64_t{blockIdx.x} * kBlock;
  SpanWalk walk(spans, begin, min(begin + kBlock, b.elements) - 1, ends);
  typename Rule::Factors factors = rule.factors(walk.decay(), walk.rate());
  for (int piece = 0; piece < kUpdatePieces; ++piece) {
    const int64_t first = begin + (piece * kThreads + threadIdx.x) * kPiece, left = b.elements - first;
    float p[kPiece], g[kPiece], m[kPiece], v[kPiece];
    load_piece<kAligned>(b.parameter + first, left, p);
    load_piece<kAligned>(b.gradient + first, left, g);
    load_piece<kAligned>(b.moment1 + first, left, m);
    if constexpr (Rule::kMoments == 2) load_piece<kAligned>(b.moment2 + first, left, v);
#pragma unroll
    for (int i = 0; i < kPiece; ++i) {
      if (walk.reach(first + i)) factors = rule.factors(walk.decay(), walk.rate());
      if constexpr (Rule::kMoments == 2) {
        rule.update(factors, g[i], p[i], m[i], v[i]);
      } else {
        rule.update(factors, g[i], p[i], m[i]);
      }
    }
    store_piece<kAligned>(b.parameter + first, left, p);
    store_piece<kAligned>(b.moment1 + first, left, m);
    if constexpr (Rule::kMoments == 2) store_piece<kAligned>(b.moment2 + first, left, v);
    if (b.compute) store_piece<kAligned>(b.compute + first, left, p);
  }
}

template <class Rule, class Args>
void launch_update(const Stream& stream, const Args& args, const Tensor& moment1, const Tensor& moment2) {
  require_device_type(args.parameter.dtype());
  const StepState* const replayed = args.step.on_device;
  if (args.step.skip && !replayed) return;
  with_device_type(args.compute ? args.compute.dtype() : DType::F32, [&]<class C>() {
    const FlatBuffers<C> buffers{elements_of<float>(args.parameter), elements_of<float>(args.gradient),
                                 elements_of<float>(moment1),        elements_of<float>(moment2),
                                 elements_of<C>(args.compute),       args.parameter.elements()};
    const auto start = [&](auto* kernel) {
      launch(stream, kernel, blocks_for(buffers.elements, kBlock), kThreads, 0, Rule(args), DeviceSpans(*args.spans),
             buffers, replayed);
    };
    buffers.aligned() ? start(optimizer_update<true, Rule, C>) : start(optimizer_update<false, Rule, C>);
  });
}

}  // namespace

template <>
void CudaBackend::run(const AdamUpdate& args) {
  launch_update<formulas::AdamRule<float>>(stream(), args, args.moment1, args.moment2);
}

template <>
void CudaBackend::run(const SgdUpdate& args) {
  launch_update<formulas::SgdRule<float>>(stream(), args, args.buffer, {});
}

}  // namespace weft::cuda
