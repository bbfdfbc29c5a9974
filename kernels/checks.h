// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

// Checks the arguments of one operation. A failed check throws InternalError with the operation's name, the tensor's
// name, its shape and dtype, and the expected ones. Shapes are compared as matrices (Tensor::rows, Tensor::columns).
class Checks {
 public:
  Checks(const Context& context, const char* operation) : context_(context), operation_(operation) {}

  void present(const char* name, const Tensor& t) const;  // t must also be on the context's device
  void floating(const char* name, const Tensor& t) const;
  void matrix(const char* name, const Tensor& t, int64_t rows, int64_t columns, DType dtype) const;
  void vector(const char* name, const Tensor& t, int64_t elements, DType dtype) const;  // any shape of that size
  void dropout(const Dropout& d, int64_t rows) const;  // probability in [0, 1); row ids, if d is active
  template <class... Args>
  void that(bool condition, fmt::format_string<Args...> format, Args&&... args) const {
    if (!condition) fail(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const;

  const Context& context_;
  const char* operation_;
};

// The sum of the present tensors' bytes, for an operation's cost.
double bytes_of(std::initializer_list<Tensor> tensors);

}  // namespace weft
