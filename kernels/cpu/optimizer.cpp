#include <cmath>

#include "kernels/cpu/convert.h"
#include "kernels/cpu/cpu_backend.h"

namespace weft::cpu {
namespace {

template <class T>
void adam(const AdamUpdate& args, int threads) {
  const StepState& state = args.step;
  const T clip = static_cast<T>(state.clip), beta1 = static_cast<T>(args.beta1), beta2 = static_cast<T>(args.beta2);
  const T rest1 = static_cast<T>(1 - args.beta1), rest2 = static_cast<T>(1 - args.beta2);
  const T rate = static_cast<T>(state.learning_rate / state.bias_correction1);
  const T root2 = static_cast<T>(1 / std::sqrt(state.bias_correction2)), epsilon = static_cast<T>(args.epsilon);
  // One of the two is zero: decay goes into the gradient, or shrinks the parameter by itself.
  const T into_gradient = static_cast<T>(args.coupled ? args.weight_decay : 0);
  const T decay = static_cast<T>(args.coupled ? 0 : state.learning_rate * args.weight_decay);
  T *p = args.parameter.device_data<T>(), *m = args.moment1.device_data<T>(), *v = args.moment2.device_data<T>();
  const T* gradient = args.gradient.device_data<T>();
  parallel_for(threads, args.parameter.elements(), kElementGrain, [=](int64_t begin, int64_t end) {
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
  const StepState& state = args.step;
  const T clip = static_cast<T>(state.clip), momentum = static_cast<T>(args.momentum);
  const T decay = static_cast<T>(args.weight_decay), rate = static_cast<T>(state.learning_rate);
  T *p = args.parameter.device_data<T>(), *buffer = args.buffer.device_data<T>();
  const T* gradient = args.gradient.device_data<T>();
  parallel_for(threads, args.parameter.elements(), kElementGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      buffer[i] = momentum * buffer[i] + gradient[i] * clip + decay * p[i];
      p[i] -= rate * buffer[i];
    }
  });
}

}  // namespace

void CpuBackend::run(const AdamUpdate& args, Scratch) {
  if (args.step.skip) return;
  args.parameter.dtype() == DType::F64 ? adam<double>(args, threads_) : adam<float>(args, threads_);
}

void CpuBackend::run(const SgdUpdate& args, Scratch) {
  if (args.step.skip) return;
  args.parameter.dtype() == DType::F64 ? sgd<double>(args, threads_) : sgd<float>(args, threads_);
}

}  // namespace weft::cpu
