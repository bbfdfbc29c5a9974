#include "parallel/parameter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/hash.h"
#include "base/parallel_for.h"
#include "base/philox.h"
#include "kernels/elementwise.h"

namespace weft {
namespace {

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
  parallel_for(threads, rows, 16, [&](int64_t begin, int64_t end) {
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

// The box of `extent` at `origin`, into contiguous memory.
template <class T>
void draw_box(const ParameterSpec& spec, const Shape& extent, const std::vector<int64_t>& origin, uint64_t seed,
              int threads, T* out) {
  const Init init = spec.init;
  const Philox philox(hash64(spec.name, seed));
  for_each_row(spec.shape, extent, origin, threads, [&](int64_t local, int64_t global, int64_t n) {
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

Parameter& ParameterRegistry::add(ParameterSpec spec) {
  require<InternalError>(!flat_value_, "parameter {} declared after allocation", spec.name);
  require<InternalError>(!find(spec.name), "parameter {} declared twice", spec.name);
  auto p = std::make_unique<Parameter>();
  p->local_shape_ = p->extent_ = spec.shape;
  const int tp = mesh_.tp().size();
  if (spec.padded) {
    require<InternalError>(spec.tp_dim == 0, "parameter {}: only dim 0 can be padded", spec.name);
    const int64_t global = spec.shape[0], local = (global + tp - 1) / tp;
    p->local_shape_[0] = local;
    p->extent_[0] = std::clamp<int64_t>(global - local * mesh_.tp().rank(), 0, local);
  } else if (spec.tp_dim >= 0) {
    p->local_shape_[spec.tp_dim] = div_exact(spec.shape[spec.tp_dim], tp, spec.name.c_str());
    p->extent_ = p->local_shape_;
  }
  p->spec_ = std::move(spec);
  p->index_ = parameters_.size();
  parameters_.push_back(std::move(p));
  return *parameters_.back();
}

void ParameterRegistry::allocate(Precision precision, bool training, const Sharding& sharding) {
  precision_ = precision;
  const DType compute = compute_dtype(precision);
  const DType acc_dtype = accumulator_of(compute);
  std::vector<int64_t> sizes;
  for (const auto& p : parameters_) sizes.push_back(p->local_shape_.elements());
  const Communicator& dp = mesh_.dp();
  layout_ = make_flat_layout(sizes, size_of(acc_dtype), training ? sharding : Sharding{}, dp.rank(), dp.size());
  const Shape whole{layout_.elements};
  flat_value_ = context_.zeros(whole, compute);
  master_ = compute == acc_dtype ? FlatBuffer::whole(layout_, flat_value_) : make_state();
  if (training) {
    if (layout_.zero != ZeroStage::Gradients) flat_gradient_ = context_.zeros(whole, acc_dtype);
    reduced_gradient_ = layout_.sharded() ? make_state() : FlatBuffer::whole(layout_, flat_gradient_);
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Parameter& p = *parameters_[i];
    p.flat_offset_ = layout_.offsets[i];
    p.value_ = flat_value_.flat(p.flat_offset_, p.local_shape_);
  }
}

FlatBuffer ParameterRegistry::make_state() const {
  const DType acc_dtype = accumulator_of(compute_dtype(precision_));
  return FlatBuffer::shard(layout_, context_.zeros(Shape{layout_.owned_elements}, acc_dtype));
}

// Each replica draws the whole parameter and keeps what it owns of it.
void ParameterRegistry::initialise_parameter(Parameter& p, uint64_t seed) {
  const bool in_place = flat_value_.storage() == master_.data.storage();
  const Tensor drawn = in_place ? p.value_ : context_.zeros(p.local_shape_, master_.data.dtype());
  const auto origin = local_origin(p);
  if (precision_ == Precision::Fp64) {
    draw_box(p.spec_, p.extent_, origin, seed, context_.threads(), drawn.data<double>());
  } else {
    draw_box(p.spec_, p.extent_, origin, seed, context_.threads(), drawn.data<float>());
  }
  if (in_place) return;
  for (const FlatRange& part : master_.parts(p.range())) {
    convert(context_, drawn.flat(part.begin - p.flat_offset_, Shape{part.size()}), master_.piece(part));
  }
}

void ParameterRegistry::initialise(uint64_t seed) {
  if (!context_.meta()) {
    for (const auto& p : parameters_) {
      if (p->extent_.elements() > 0) initialise_parameter(*p, seed);
    }
  }
  sync_compute_weights();
}

void ParameterRegistry::start_weight_gather(size_t owned) {
  const FlatRange& range = layout_.owned[owned];
  const Tensor value = flat_value_.flat(range.begin, Shape{range.size()});
  if (flat_value_.storage() != master_.data.storage()) convert(context_, master_.piece(range), value);
  if (!layout_.sharded()) return;
  const FlatRange& bucket = layout_.buckets[owned];
  gathering_.push_back(mesh_.dp().start_all_gather(value, flat_value_.flat(bucket.begin, Shape{bucket.size()})));
  mesh_.dp().progress();
}

void ParameterRegistry::finish_weight_gather() {
  for (const auto& pending : gathering_) pending->wait();
  gathering_.clear();
}

void ParameterRegistry::sync_compute_weights() {
  for (size_t i = 0; i < layout_.owned.size(); ++i) start_weight_gather(i);
  finish_weight_gather();
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
  if (dim >= 0) {
    origin[dim] = std::min(parameter.local_shape_[dim] * mesh_.tp().rank(), parameter.spec_.shape[dim]);
  }
  return origin;
}

}  // namespace weft
