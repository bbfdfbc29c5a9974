// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/pieces.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/types.h"
#include "kernels/ops/optimizer.h"

namespace weft::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPiece = 4;                            // elements of an f32 request
constexpr int kPieces = 4;                           // of a thread
constexpr int kBlock = kThreads * kPiece * kPieces;  // elements of a block

// UpdateSpans on the device, and what of each span the update needs as f32.
struct Spans {
  const int64_t* begins;
  const double *decays, *rates;
  int count;

  explicit Spans(const UpdateSpans& spans)
      : begins(spans.device_begins.device_data<int64_t>()),
        decays(spans.device_decays.device_data<double>()),
        rates(spans.device_rates.device_data<double>()),
        count(static_cast<int>(spans.begins.size())) {}

  // The span that element i lies in: the last of [low, high] that begins at or before it.
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

// Which span a thread's elements lie in, one after the other. Most blocks lie in one span: then nothing is searched.
class SpanWalk {
 public:
  // The whole block together; `ends` is shared.
  __device__ SpanWalk(const Spans& spans, int64_t first, int64_t last, int (&ends)[2]) : spans_(spans) {
    if (threadIdx.x < 2) ends[threadIdx.x] = spans.find(threadIdx.x == 0 ? first : last, 0, spans.count - 1);
    __syncthreads();
    low_ = ends[0], high_ = ends[1];
    span_ = low_;
  }
  // Elements come in rising order. Whether the span is another one than before.
  __device__ bool reach(int64_t i) {
    if (low_ == high_) return false;
    const int before = span_;
    span_ = spans_.find(i, span_, high_);
    return span_ != before;
  }
  __device__ double decay() const { return spans_.decays[span_]; }
  __device__ double rate() const { return spans_.rates[span_]; }

 private:
  const Spans& spans_;
  int low_, high_, span_;
};

// One element's update, with the factors of its span in f32. take() rounds what changes with the step and not with the
// span: on the host, or on the device for a step that is replayed, by the same operations of IEEE 754.
struct Adam {
  float clip, beta1, beta2, rest1, rest2, root2, epsilon;
  double learning_rate, corrected_rate;  // of a span whose factor is 1; corrected by the first moment's bias
  bool coupled;

  explicit Adam(const AdamUpdate& args)
      : beta1(static_cast<float>(args.beta1)),
        beta2(static_cast<float>(args.beta2)),
        rest1(static_cast<float>(1 - args.beta1)),
        rest2(static_cast<float>(1 - args.beta2)),
        epsilon(static_cast<float>(args.epsilon)),
        coupled(args.coupled) {
    take(args.step);
  }
  __host__ __device__ void take(const StepState& step) {
    clip = static_cast<float>(step.clip);
    root2 = static_cast<float>(1 / sqrt(step.bias_correction2));
    learning_rate = step.learning_rate;
    corrected_rate = step.learning_rate / step.bias_correction1;
  }

  static constexpr int kMoments = 2;
  // One of the two decays is zero: it goes into the gradient, or shrinks the parameter by itself.
  struct Factors {
    float rate, into_gradient, decay;
  };
  __device__ Factors factors(double decay, double rate) const {
    return {static_cast<float>(rate * corrected_rate), coupled ? static_cast<float>(decay) : 0.0f,
            coupled ? 0.0f : static_cast<float>(rate * learning_rate * decay)};
  }
  __device__ void update(const Factors& f, float gradient, float& p, float& m, float& v) const {
    const float g = gradient * clip + f.into_gradient * p;
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * (g * g);
    p -= f.rate * (m / (sqrtf(v) * root2 + epsilon)) + f.decay * p;
  }
};

struct Sgd {
  float clip, momentum;
  double learning_rate;

  explicit Sgd(const SgdUpdate& args) : momentum(static_cast<float>(args.momentum)) { take(args.step); }
  __host__ __device__ void take(const StepState& step) {
    clip = static_cast<float>(step.clip);
    learning_rate = step.learning_rate;
  }

  static constexpr int kMoments = 1;
  struct Factors {
    float rate, decay;
  };
  __device__ Factors factors(double decay, double rate) const {
    return {static_cast<float>(rate * learning_rate), static_cast<float>(decay)};
  }
  __device__ void update(const Factors& f, float gradient, float& p, float& buffer, float&) const {
    buffer = momentum * buffer + gradient * clip + f.decay * p;
    p -= f.rate * buffer;
  }
};

// The flat buffers; C is the dtype of `compute`, null where there is none. The second moment may be null as well.
template <class C>
struct Buffers {
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
    update_elements(Rule rule, const Spans spans, const Buffers<C> b, const StepState* const step) {
  __shared__ int ends[2];
  if (step) {
    if (step->skip) return;
    rule.take(*step);
  }
  const int64_t begin = int64_t{blockIdx.x} * kBlock;
  SpanWalk walk(spans, begin, min(begin + kBlock, b.elements) - 1, ends);
  typename Rule::Factors factors = rule.factors(walk.decay(), walk.rate());
  for (int piece = 0; piece < kPieces; ++piece) {
    const int64_t first = begin + (piece * kThreads + threadIdx.x) * kPiece, left = b.elements - first;
    float p[kPiece], g[kPiece], m[kPiece], v[kPiece];
    load_piece<kAligned>(b.parameter + first, left, p);
    load_piece<kAligned>(b.gradient + first, left, g);
    load_piece<kAligned>(b.moment1 + first, left, m);
    if constexpr (Rule::kMoments == 2) load_piece<kAligned>(b.moment2 + first, left, v);
#pragma unroll
    for (int i = 0; i < kPiece; ++i) {
      if (walk.reach(first + i)) factors = rule.factors(walk.decay(), walk.rate());
      rule.update(factors, g[i], p[i], m[i], v[i]);
    }
    store_piece<kAligned>(b.parameter + first, left, p);
    store_piece<kAligned>(b.moment1 + first, left, m);
    if constexpr (Rule::kMoments == 2) store_piece<kAligned>(b.moment2 + first, left, v);
    if (b.compute) store_piece<kAligned>(b.compute + first, left, p);
  }
}

template <class Rule, class Args>
void update(const Stream& stream, const Args& args, const Tensor& moment1, const Tensor& moment2) {
  require_device_type(args.parameter.dtype());
  const StepState* const replayed = args.step.on_device;
  if (args.step.skip && !replayed) return;
  with_device_type(args.compute ? args.compute.dtype() : DType::F32, [&]<class C>() {
    const Buffers<C> buffers{elements_of<float>(args.parameter), elements_of<float>(args.gradient),
                             elements_of<float>(moment1),        elements_of<float>(moment2),
                             elements_of<C>(args.compute),       args.parameter.elements()};
    const auto start = [&](auto* kernel) {
      launch(stream, kernel, blocks_for(buffers.elements, kBlock), kThreads, 0, Rule(args), Spans(*args.spans), buffers,
             replayed);
    };
    buffers.aligned() ? start(update_elements<true, Rule, C>) : start(update_elements<false, Rule, C>);
  });
}

}  // namespace

template <>
void CudaBackend::run(const AdamUpdate& args) {
  update<Adam>(stream(), args, args.moment1, args.moment2);
}

template <>
void CudaBackend::run(const SgdUpdate& args) {
  update<Sgd>(stream(), args, args.buffer, {});
}

}  // namespace weft::cuda
