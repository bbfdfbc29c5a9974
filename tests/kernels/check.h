// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/philox.h"
#include "kernels/context.h"
#include "kernels/ops/elementwise.h"
#include "kernels/step_state.h"
#include "tests/support/error_of.h"
#include "tests/support/operation_context.h"

// Shared by the tests of operations: random tensors by seed, comparison by dtype, gradients by finite differences.
namespace weft::test {

// Elements are functions of (seed, index): standard normal, scaled; rounded to the dtype.
inline Tensor random(Context& context, const Shape& shape, DType dtype, uint64_t seed, double scale = 1) {
  const Tensor t = context.empty(shape, DType::F64);
  const Philox philox(seed);
  for (int64_t i = 0; i < t.elements(); ++i) {
    const Philox::Counter c = philox({static_cast<uint32_t>(i), 0, 0, 0});
    const double radius = std::sqrt(-2 * std::log(uniform_open(c[0])));
    t.data<double>()[i] = scale * radius * std::cos(6.283185307179586 * uniform_open(c[1]));
  }
  const Tensor out = context.empty(shape, dtype);
  convert(context, t, out);
  return out;
}

inline Tensor constant(Context& context, const Shape& shape, DType dtype, double value) {
  const Tensor t = context.empty(shape, dtype);
  fill(context, t, value);
  return t;
}

inline Tensor integers(Context& context, const std::vector<int32_t>& values) {
  const Tensor t = context.empty({static_cast<int64_t>(values.size())}, DType::I32);
  std::copy(values.begin(), values.end(), t.data<int32_t>());
  return t;
}

inline Tensor copy_as(Context& context, const Tensor& t, DType dtype) {
  const Tensor out = context.empty(t.shape(), dtype);
  convert(context, t, out);
  return out;
}
inline Tensor copy(Context& context, const Tensor& t) { return copy_as(context, t, t.dtype()); }

inline std::vector<double> values(const Tensor& t) {
  std::vector<double> out;
  with_float_type(t.dtype(), [&]<class T>() {
    for (const T& v : t.span<T>()) out.push_back(static_cast<double>(static_cast<Accumulator<T>>(v)));
  });
  return out;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && a.dtype() == b.dtype() && std::equal(a.raw(), a.raw() + a.bytes(), b.raw());
}

// The error allowed in an element of a result, against the same computation in f64 on the same (rounded) inputs,
// as a multiple of the largest element of the result (sums cancel, so errors follow the size of their terms):
//   f32:  2^-24 a step, in sums of up to a few thousand terms, so some tens of roundings: 2e-5.
//   bf16: 2^-9 for rounding the result, and 2^-9 for an intermediate that is stored in bf16 (the value
//         before an activation, its gradient), which a product with K terms averages over: 2e-2.
//   f64:  1e-12.
inline double tolerance(DType dtype) {
  switch (dtype) {
    case DType::BF16:
      return 2e-2;
    case DType::F32:
      return 2e-5;
    case DType::F64:
      return 1e-12;
    case DType::I32:
    case DType::I64:
      break;
  }
  throw InternalError("integers are compared exactly");
}

// The most by which one rounding to bf16 moves x, and a little for the f32 sums before it.
inline double one_rounding(double x) { return 1.01 * std::ldexp(1.0, std::ilogb(x) - 8) + 1e-6; }

// Compares with `expected`, `allowed` relative to the largest expected magnitude (at least `floor`).
inline testing::AssertionResult close(const Tensor& actual, const Tensor& expected, double allowed, double floor = 0) {
  const std::vector<double> a = values(actual), e = values(expected);
  if (a.size() != e.size()) return testing::AssertionFailure() << actual.text() << " against " << expected.text();
  double largest = floor;
  for (const double v : e) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - e[i]) <= allowed * largest) continue;  // false for NaN
    return testing::AssertionFailure() << "element " << i << " of " << actual.text() << " is " << a[i] << ", expected "
                                       << e[i] << " within " << allowed << " of " << largest;
  }
  return testing::AssertionSuccess();
}

// Central differences of `loss` along every element (or `most` of them, evenly spread) of f64 tensor x, against
// `gradient`. The step 1e-5 balances the truncation (step^2) against rounding (1e-16 / step): about 1e-10 relative
// where the function is smooth.
inline testing::AssertionResult gradient_matches(const Tensor& x, const Tensor& gradient,
                                                 const std::function<double()>& loss, int64_t most = 200,
                                                 double allowed = 1e-6) {
  constexpr double kStep = 1e-5;
  const std::vector<double> expected = values(gradient);
  double largest = 1e-3;
  for (const double g : expected) largest = std::max(largest, std::abs(g));
  double* at = x.data<double>();
  const int64_t stride = std::max<int64_t>(1, x.elements() / most);
  for (int64_t i = 0; i < x.elements(); i += stride) {
    const double kept = at[i];
    at[i] = kept + kStep;
    const double above = loss();
    at[i] = kept - kStep;
    const double below = loss();
    at[i] = kept;
    const double slope = (above - below) / (2 * kStep);
    if (std::abs(slope - expected[i]) <= allowed * largest) continue;
    return testing::AssertionFailure() << "element " << i << " of " << x.text() << ": gradient " << expected[i]
                                       << ", finite difference " << slope;
  }
  return testing::AssertionSuccess();
}

// sum of a * b: a loss whose gradient with respect to a is b.
inline double dot(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = values(a), y = values(b);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

// Rows 0..rows-1 as sequences 10, 11, ... of `length` positions each.
inline RowIds row_ids(Context& context, int64_t rows, int64_t length = 3) {
  std::vector<int32_t> sequence, position;
  for (int64_t r = 0; r < rows; ++r) {
    sequence.push_back(static_cast<int32_t>(10 + r / length));
    position.push_back(static_cast<int32_t>(r % length));
  }
  return {integers(context, sequence), integers(context, position)};
}

// A name that GoogleTest accepts.
inline std::string printable(std::string name) {
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

}  // namespace weft::test
