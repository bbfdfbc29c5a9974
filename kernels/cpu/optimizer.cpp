// SPDX-License-Identifier: Apache-2.0
#include "kernels/formulas/optimizer.h"

#include <algorithm>

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
void adam_update(const AdamUpdate& args, int threads) {
  T *const p = args.parameter.device_data<T>(), *const m = args.moment1.device_data<T>(),
           *const v = args.moment2.device_data<T>();
  const T* const gradient = args.gradient.device_data<T>();
  for_each_run(args.parameter, args.compute, *args.spans, threads,
               [=, all = formulas::AdamRule<T>(args)](int64_t begin, int64_t end, double weight_decay, double rate) {
                 const auto rule = all;  // a local, which the stores cannot change: else it is read for each element
                 const auto factors = rule.factors(weight_decay, rate);
#pragma omp simd
                 for (int64_t i = begin; i < end; ++i) rule.update(factors, gradient[i], p[i], m[i], v[i]);
               });
}

template <class T>
void sgd_update(const SgdUpdate& args, int threads) {
  T *const p = args.parameter.device_data<T>(), *const buffer = args.buffer.device_data<T>();
  const T* const gradient = args.gradient.device_data<T>();
  for_each_run(args.parameter, args.compute, *args.spans, threads,
               [=, all = formulas::SgdRule<T>(args)](int64_t begin, int64_t end, double weight_decay, double rate) {
                 const auto rule = all;
                 const auto factors = rule.factors(weight_decay, rate);
#pragma omp simd
                 for (int64_t i = begin; i < end; ++i) rule.update(factors, gradient[i], p[i], buffer[i]);
               });
}

}  // namespace

template <>
void CpuBackend::run(const AdamUpdate& args) {
  if (args.step.skip) return;
  args.parameter.dtype() == DType::F64 ? adam_update<double>(args, threads_) : adam_update<float>(args, threads_);
}

template <>
void CpuBackend::run(const SgdUpdate& args) {
  if (args.step.skip) return;
  args.parameter.dtype() == DType::F64 ? sgd_update<double>(args, threads_) : sgd_update<float>(args, threads_);
}

}  // namespace weft::cpu
