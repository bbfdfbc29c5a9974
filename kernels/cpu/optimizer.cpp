#include "kernels/cpu/optimizer.h"

#include <cmath>

#include "kernels/cpu/convert.h"

namespace weft::cpu {
namespace {

template <class T>
void adam(const AdamUpdate& args, int threads) {
  const StepState& state = *args.state;
  const T clip = static_cast<T>(state.clip), beta1 = static_cast<T>(args.beta1), beta2 = static_cast<T>(args.beta2);
  const T rest1 = static_cast<T>(1 - args.beta1), rest2 = static_cast<T>(1 - args.beta2);
  const T rate = static_cast<T>(state.learning_rate / state.bias_correction1);
  const T root2 = static_cast<T>(1 / std::sqrt(state.bias_correction2)), epsilon = static_cast<T>(args.epsilon);
  // One of the two is zero: decay goes into the gradient, or shrinks the parameter by itself.
  const T into_gradient = static_cast<T>(args.coupled ? args.weight_decay : 0);
  const T decay = static_cast<T>(args.coupled ? 0 : state.learning_rate * args.weight_decay);
  T *p = args.parameter.data<T>(), *m = args.moment1.data<T>(), *v = args.moment2.data<T>();
  const T* gradient = args.gradient.data<T>();
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
  const StepState& state = *args.state;
  const T clip = static_cast<T>(state.clip), momentum = static_cast<T>(args.momentum);
  const T decay = static_cast<T>(args.weight_decay), rate = static_cast<T>(state.learning_rate);
  T *p = args.parameter.data<T>(), *buffer = args.buffer.data<T>();
  const T* gradient = args.gradient.data<T>();
  parallel_for(threads, args.parameter.elements(), kElementGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      buffer[i] = momentum * buffer[i] + gradient[i] * clip + decay * p[i];
      p[i] -= rate * buffer[i];
    }
  });
}

}  // namespace

void adam_update(const AdamUpdate& args, int threads) {
  args.parameter.dtype() == DType::F64 ? adam<double>(args, threads) : adam<float>(args, threads);
}

void sgd_update(const SgdUpdate& args, int threads) {
  args.parameter.dtype() == DType::F64 ? sgd<double>(args, threads) : sgd<float>(args, threads);
}

}  // namespace weft::cpu
