#include "parallel/parameter.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "base/hash.h"
#include "base/philox.h"
#include "kernels/cpu/parallel_for.h"
#include "kernels/plain.h"

namespace weft {
namespace {

constexpr int64_t kAlignment = 64;  // elements: every parameter starts on a cache line in any dtype

double draw(const Init& init, const Philox& philox, int64_t index) {
  const auto block = static_cast<uint64_t>(index) / 4;
  const auto bits = philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0});
  const int lane = static_cast<int>(index % 4);
  if (init.kind == Init::Kind::Uniform) return init.spread * (2 * uniform_open(bits[lane]) - 1);
  // Box-Muller: lanes 0, 1 and lanes 2, 3 are pairs.
  const int first = lane & ~1;
  const double radius = std::sqrt(-2 * std::log(uniform_open(bits[first])));
  const double angle = 2 * std::numbers::pi * uniform_open(bits[first + 1]);
  return init.spread * radius * (lane == first ? std::cos(angle) : std::sin(angle));
}

// Walks the local box row by row (a row is contiguous in the last dim) and gives each row's global flat index.
template <class Row>
void for_each_row(const Shape& global, const Shape& local, const std::vector<int64_t>& origin, int threads, Row&& row) {
  const int64_t columns = local.rank() == 0 ? 1 : local[-1];
  const int64_t rows = columns == 0 ? 0 : local.elements() / columns;
  cpu::parallel_for(threads, rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t rest = r, flat = 0, stride = 1;
      for (int d = global.rank() - 1; d >= 0; --d) {
        int64_t at = origin[d];
        if (d < global.rank() - 1) at += rest % local[d], rest /= local[d];
        flat += at * stride;
        stride *= global[d];
      }
      row(r * columns, flat, columns);
    }
  });
}

template <class T>
void initialise_parameter(const Parameter& p, const std::vector<int64_t>& origin, uint64_t seed, int threads) {
  T* out = p.master().data<T>();
  const Init init = p.spec().init;
  const Philox philox(hash64(p.spec().name, seed));
  for_each_row(p.spec().shape, p.local_shape(), origin, threads, [&](int64_t local, int64_t global, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      switch (init.kind) {
        case Init::Kind::Zeros:
          out[local + i] = T(0);
          break;
        case Init::Kind::Ones:
          out[local + i] = T(1);
          break;
        // Rounded to fp32 in every precision, so that an f64 run starts from the same weights.
        default:
          out[local + i] = static_cast<T>(static_cast<float>(draw(init, philox, global + i)));
      }
    }
  });
}

}  // namespace

DType compute_dtype(Precision precision) {
  switch (precision) {
    case Precision::Bf16:
      return DType::BF16;
    case Precision::Fp64:
      return DType::F64;
    default:
      return DType::F32;
  }
}

Accumulate Parameter::gradient_mode() {
  const Accumulate mode = touched_ ? Accumulate::Add : Accumulate::Overwrite;
  touched_ = true;
  return mode;
}

Parameter& ParameterRegistry::add(ParameterSpec spec) {
  require<InternalError>(!flat_master_, "parameter {} declared after allocation", spec.name);
  require<InternalError>(!find(spec.name), "parameter {} declared twice", spec.name);
  auto p = std::make_unique<Parameter>();
  p->local_shape_ = spec.shape;
  if (spec.tp_dim >= 0) {
    p->local_shape_[spec.tp_dim] = div_exact(spec.shape[spec.tp_dim], mesh_.tp().size(), spec.name.c_str());
  }
  if (!parameters_.empty()) {
    const Parameter& last = *parameters_.back();
    const int64_t end = last.flat_offset_ + last.local_shape_.elements();
    p->flat_offset_ = (end + kAlignment - 1) / kAlignment * kAlignment;
  }
  p->spec_ = std::move(spec);
  parameters_.push_back(std::move(p));
  return *parameters_.back();
}

void ParameterRegistry::allocate(Precision precision, bool training) {
  precision_ = precision;
  const DType compute = compute_dtype(precision);
  const DType wide = accumulator_of(compute);
  const Parameter& last = *parameters_.back();
  const int64_t end = last.flat_offset_ + last.local_shape_.elements();
  const Shape flat{(end + kAlignment - 1) / kAlignment * kAlignment};
  flat_master_ = context_.zeros(flat, wide);
  flat_value_ = compute == wide ? flat_master_ : context_.zeros(flat, compute);
  if (training) flat_gradient_ = context_.zeros(flat, wide);
  for (auto& p : parameters_) {
    p->master_ = flat_master_.flat(p->flat_offset_, p->local_shape_);
    p->value_ = flat_value_.flat(p->flat_offset_, p->local_shape_);
    if (training) p->gradient_ = flat_gradient_.flat(p->flat_offset_, p->local_shape_);
  }
}

void ParameterRegistry::initialise(uint64_t seed) {
  if (context_.meta()) return;
  for (const auto& p : parameters_) {
    const auto origin = local_origin(*p);
    if (precision_ == Precision::Fp64) {
      initialise_parameter<double>(*p, origin, seed, context_.threads());
    } else {
      initialise_parameter<float>(*p, origin, seed, context_.threads());
    }
  }
  refresh_values();
}

void ParameterRegistry::refresh_values() {
  if (flat_value_.storage() != flat_master_.storage()) convert(context_, flat_master_, flat_value_);
}

Parameter* ParameterRegistry::find(std::string_view name) const {
  for (const auto& p : parameters_) {
    if (p->spec_.name == name) return p.get();
  }
  return nullptr;
}

int64_t ParameterRegistry::global_elements() const {
  int64_t n = 0;
  for (const auto& p : parameters_) n += p->spec_.shape.elements();
  return n;
}

std::vector<int64_t> ParameterRegistry::local_origin(const Parameter& parameter) const {
  std::vector<int64_t> origin(parameter.spec_.shape.rank(), 0);
  const int dim = parameter.spec_.tp_dim;
  if (dim >= 0) origin[dim] = parameter.local_shape_[dim] * mesh_.tp().rank();
  return origin;
}

}  // namespace weft
