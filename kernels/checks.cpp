// SPDX-License-Identifier: Apache-2.0
#include "kernels/checks.h"

namespace weft {

void Checks::fail(const std::string& what) const { throw InternalError(fmt::format("{}: {}", operation_, what)); }

void Checks::present(const char* name, const Tensor& t) const {
  that(static_cast<bool>(t), "{} is absent", name);
  that(t.device() == context_.device(), "{} {} lies on another device", name, t);
}

void Checks::floating(const char* name, const Tensor& t) const {
  present(name, t);
  const bool known = t.dtype() == DType::F32 || t.dtype() == DType::BF16 || t.dtype() == DType::F64;
  that(known, "{} {} needs a floating dtype", name, t);
}

void Checks::matrix(const char* name, const Tensor& t, int64_t rows, int64_t columns, DType dtype) const {
  present(name, t);
  const bool fits = t.columns() == columns && t.elements() == rows * columns && t.dtype() == dtype;
  that(fits, "{} is {}, expected {}[{}, {}]", name, t, weft::name(dtype), rows, columns);
}

void Checks::vector(const char* name, const Tensor& t, int64_t elements, DType dtype) const {
  present(name, t);
  const bool fits = t.elements() == elements && t.dtype() == dtype;
  that(fits, "{} is {}, expected {} elements of {}", name, t, elements, weft::name(dtype));
}

void Checks::dropout(const Dropout& d, int64_t rows) const {
  that(d.probability >= 0 && d.probability < 1, "dropout probability {} is outside [0, 1)", d.probability);
  if (!d.active()) return;
  vector("dropout sequence", d.rows.sequence, rows, DType::I32);
  vector("dropout position", d.rows.position, rows, DType::I32);
}

double bytes_of(std::initializer_list<Tensor> tensors) {
  double sum = 0;
  for (const Tensor& t : tensors) sum += t ? static_cast<double>(t.bytes()) : 0;
  return sum;
}

}  // namespace weft
