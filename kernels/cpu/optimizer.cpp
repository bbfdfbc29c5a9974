// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/cpu/convert.h"
#include "kernels/cpu/cpu_backend.h"

namespace weft::cpu {
namespace {

// Calls body(begin, end, decay, rate) for runs of elements on threads, short enough to stay in cache, and rounds the
// run's new parameters into `compute` while they are there.
template <class Body>
void for_each_run(const Tensor& parameter, const Tensor& compute, const UpdateSpans& spans, int threads, Body&& body) {
  constexpr int64_t kRun = 8192;
  const auto round = [&](int64_t begin, int64_t end) {
    if (!compute) return;
    with_float_type(parameter.dtype(), [&]<class P>() {
      with_float_type(compute.dtype(), [&]<class C>() {
        const P* from = parameter.device_data<P>();
        C* to = compute.device_data<C>();
        for (int64_t i = begin; i < end; ++i) to[i] = element_cast<C>(from[i]);
      });
    });
  };
  parallel_for(threads, parameter.elements(), kElementGrain, [&](int64_t first, int64_t last) {
    auto next = std::upper_bound(spans.begins.begin(), spans.begins.end(), first);
    for (int64_t begin = first; begin < last;) {
      const int64_t span_end = next == spans.begins.end() ? last : std::min(*next, last);
      const auto span = next - spans.begins.begin() - 1;
      const double decay = spans.decays[span], rate = spans.rates[span];
      for (; begin < span_end; begin = std::min(begin + kRun, span_end)) {
        const int64_t end = std::min(begin + kRun, span_end);
        body(begin, end, decay, rate);
        round(begin, end);
      }
      if (next != spans.begins.end()) ++next;
    }
  });
}

template <class T>
void adam(const AdamUpdate& args, int threads) {
  const StepState& step = args.step;
  const T clip = static_cast<T>(step.clip), beta1 = static_cast<T>(args.beta1), beta2 = static_cast<T>(args.beta2);
  const T rest1 = static_cast<T>(1 - args.beta1), rest2 = static_cast<T>(1 - args.beta2);
  const T root2 = static_cast<T>(1 / std::sqrt(step.bias_correction2)), epsilon = static_cast<T>(args.epsilon);
  T *const p = args.parameter.device_data<T>(), *const m = args.moment1.device_data<T>(),
           *const v = args.moment2.device_data<T>();
  const T* const gradient = args.gradient.device_data<T>();
  for_each_run(args.parameter, args.compute, *args.spans, threads,
               [=](int64_t begin, int64_t end, double weight_decay, double rate_factor) {
                 const double learning_rate = rate_factor * args.step.learning_rate;
                 const T rate = static_cast<T>(learning_rate / args.step.bias_correction1);
                 // One of the two is zero: decay goes into the gradient, or shrinks the parameter by itself.
                 const T into_gradient = static_cast<T>(args.coupled ? weight_decay : 0);
                 const T decay = static_cast<T>(args.coupled ? 0 : learning_rate * weight_decay);
#pragma omp simd
                 for (int64_t i = begin; i < end; ++i) {
                   const T g = gradient[i] * clip + into_gradient * p[i];
                   m[i] = beta1 * m[i] + rest1 * g;
                   v[i] = beta2 * v[i] + rest2 * (g * g);
                   p[i] -= rate * (m[i] / (std::sqrt(v[i]) * root2 + epsilon)) + decay * p[i];
                 }
               });
}

template <class T>
void sgd(const SgdUpdate& args, int threads) {
  const T clip = static_cast<T>(args.step.clip), momentum = static_cast<T>(args.momentum);
  T *const p = args.parameter.device_data<T>(), *const buffer = args.buffer.device_data<T>();
  const T* const gradient = args.gradient.device_data<T>();
  for_each_run(args.parameter, args.compute, *args.spans, threads,
               [=](int64_t begin, int64_t end, double weight_decay, double rate_factor) {
                 const T rate = static_cast<T>(rate_factor * args.step.learning_rate);
                 const T decay = static_cast<T>(weight_decay);
#pragma omp simd
                 for (int64_t i = begin; i < end; ++i) {
                   buffer[i] = momentum * buffer[i] + gradient[i] * clip + decay * p[i];
                   p[i] -= rate * buffer[i];
                 }
               });
}

}  // namespace

template <>
void CpuBackend::run(const AdamUpdate& args) {
  if (args.step.skip) return;
  args.parameter.dtype() == DType::F64 ? adam<double>(args, threads_) : adam<float>(args, threads_);
}

template <>
void CpuBackend::run(const SgdUpdate& args) {
  if (args.step.skip) return;
  args.parameter.dtype() == DType::F64 ? sgd<double>(args, threads_) : sgd<float>(args, threads_);
}

}  // namespace weft::cpu
