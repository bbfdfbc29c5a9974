// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_bf16.h>

#include "kernels/dtype.h"
#include "kernels/tensor.h"

namespace weft::cuda {

// A dtype that weft does not compute on CUDA devices.
class UnsupportedType : public InternalError {
  using InternalError::InternalError;
};

// Throws UnsupportedType unless the dtype is f32 or bf16.
inline void require_device_type(DType dtype) {
  require<UnsupportedType>(dtype == DType::F32 || dtype == DType::BF16, "CUDA devices compute in f32 and bf16, not {}",
                           name(dtype));
}

// Calls f.template operator()<T>() with T float or __nv_bfloat16.
template <class F>
decltype(auto) with_device_type(DType dtype, F&& f) {
  require_device_type(dtype);
  if (dtype == DType::F32) return f.template operator()<float>();
  return f.template operator()<__nv_bfloat16>();
}

// A tensor's elements as device code sees them; null if the tensor is absent.
template <class T>
T* elements_of(const Tensor& t) {
  if (!t) return nullptr;
  if constexpr (std::is_same_v<std::remove_const_t<T>, __nv_bfloat16>) {
    return reinterpret_cast<T*>(t.device_data<BFloat16>());
  } else {
    return t.device_data<std::remove_const_t<T>>();
  }
}

}  // namespace weft::cuda
