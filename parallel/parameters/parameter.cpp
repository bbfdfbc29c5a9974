// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/parameter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/hash.h"
#include "base/parallel_for.h"
#include "base/philox.h"
#include "kernels/ops/elementwise.h"
#include "kernels/transfer.h"

namespace weft {
namespace {

// Draws elements 4 block .. 4 block + 3 of a parameter, rounded to fp32 in every precision, so that an f64 run starts
// from the same weights.
std::array<float, 4> draw_block(const Init& init, const Philox& philox, int64_t block) {
  const auto counter = static_cast<uint64_t>(block);
  const auto bits = philox({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0});
  std::array<float, 4> drawn{};
  for (size_t i = 0; i < 4; i += 2) {
    if (init.kind == Init::Kind::Uniform) {
      for (size_t lane : {i, i + 1}) drawn[lane] = static_cast<float>(init.spread * (2 * uniform_open(bits[lane]) - 1));
      continue;
    }
    // Box-Muller: lanes 0, 1 and lanes 2, 3 are pairs.
    const double radius = std::sqrt(-2 * std::log(uniform_open(bits[i])));
    const double angle = 2 * std::numbers::pi * uniform_open(bits[i + 1]);
    drawn[i] = static_cast<float>(init.spread * radius * std::cos(angle));
    drawn[i + 1] = static_cast<float>(init.spread * radius * std::sin(angle));
  }
  return drawn;
}

// Rows of a parameter's local box, each contiguous in the last dim.
class LocalRows {
 public:
  LocalRows(const Shape& global, const Shape& local, std::vector<int64_t> origin)
      : global_(global), local_(local), origin_(std::move(origin)) {}
  int64_t columns() const { return local_.rank() == 0 ? 1 : local_[-1]; }
  int64_t rows() const { return columns() == 0 ? 0 : local_.elements() / columns(); }
  // The global flat index of a row's first element.
  int64_t global_index(int64_t row) const {
    int64_t flat = 0, stride = 1;
    for (int d = global_.rank() - 1; d >= 0; --d) {
      int64_t at = origin_[d];
      if (d < global_.rank() - 1) at += row % local_[d], row /= local_[d];
      flat += at * stride;
      stride *= global_[d];
    }
    return flat;
  }

 private:
  Shape global_, local_;
  std::vector<int64_t> origin_;
};

// Whether the element of this global flat index belongs to the parameter's zero_row.
bool in_zero_row(const ParameterSpec& spec, int64_t index) {
  return spec.zero_row && index / (spec.shape.elements() / spec.shape[0]) == *spec.zero_row;
}

// Draws elements first .. first + n of the parameter, by global flat index; all of them lie in one row.
template <class T>
void draw_run(const ParameterSpec& spec, const Philox& philox, int64_t first, int64_t n, T* out) {
  const Init& init = spec.init;
  switch (in_zero_row(spec, first) ? Init::Kind::Zeros : init.kind) {
    case Init::Kind::Zeros:
      std::fill_n(out, n, T(0));
      break;
    case Init::Kind::Ones:
      std::fill_n(out, n, T(1));
      break;
    case Init::Kind::Normal:
    case Init::Kind::Uniform:
      for (int64_t i = 0; i < n;) {
        const std::array<float, 4> block = draw_block(init, philox, (first + i) / 4);
        for (int64_t lane = (first + i) % 4; lane < 4 && i < n; ++lane, ++i) out[i] = static_cast<T>(block[lane]);
      }
  }
}

}  // namespace

DType compute_dtype(Precision precision) {
  switch (precision) {
    case Precision::Bf16:
      return DType::BF16;
    case Precision::Fp64:
      return DType::F64;
    case Precision::Fp32:
      return DType::F32;
  }
  throw InternalError("no such precision");
}

Parameter& ParameterRegistry::add(ParameterSpec spec) {
  require<InternalError>(!flat_value_, "parameter {} declared after allocation", spec.name);
  require<InternalError>(!find(spec.name), "parameter {} declared twice", spec.name);
  auto p = std::make_unique<Parameter>();
  p->spec_ = std::move(spec);
  cut_local_shape(*p);
  p->index_ = parameters_.size();
  parameters_.push_back(std::move(p));
  return *parameters_.back();
}

void ParameterRegistry::cut_local_shape(Parameter& p) const {
  const ParameterSpec& spec = p.spec_;
  p.local_shape_ = p.extent_ = spec.shape;
  bool padded = false;
  for (const GridAxis& grid : kReplicaAxes) {
    const std::optional<int> dim = spec.placement.dim(grid.axis);
    if (!dim) continue;
    const Communicator& ranks = mesh_.on(grid.axis);
    const int64_t global = spec.shape[*dim];
    int64_t &local = p.local_shape_[*dim], &extent = p.extent_[*dim];
    if (spec.padded && *dim == 0) {
      padded = true;
      const int64_t multiple = context_.vocabulary_multiple(), whole = ranks.size() * multiple;
      local = (global + whole - 1) / whole * multiple;
      extent = std::clamp<int64_t>(global - local * ranks.rank(), 0, local);
    } else {
      local = extent = div_exact(global, ranks.size(), spec.name.c_str());
    }
  }
  require<InternalError>(padded == spec.padded, "parameter {}: only a sharded dim 0 can be padded", spec.name);
}

void ParameterRegistry::freeze(const Parameter& parameter) {
  require<InternalError>(!flat_value_, "parameter {} frozen after allocation", parameter.spec().name);
  parameters_[parameter.index()]->spec_.frozen = true;
}

void ParameterRegistry::allocate(Precision precision, Purpose purpose, const Sharding& sharding) {
  precision_ = precision;
  gradient_dtype_ = sharding.gradients;
  exact_ = sharding.exact;
  require<InternalError>(!exact_ || (precision != Precision::Fp64 && gradient_dtype_ == GradientDType::Fp32),
                         "only fp32 gradients are summed exactly");
  require<InternalError>(precision != Precision::Fp64 || gradient_dtype_ == GradientDType::Fp32,
                         "gradients of f64 are not rounded to bf16");
  const bool training = purpose == Purpose::Training;
  const DType compute = compute_dtype(precision);
  const DType acc_dtype = accumulator_of(compute);
  std::vector<int64_t> sizes;
  std::vector<bool> frozen;
  for (const auto& p : parameters_) {
    sizes.push_back(p->local_shape_.elements()), frozen.push_back(training && p->spec_.frozen);
  }
  const Communicator& dp = mesh_.dp();
  layout_ = make_flat_layout(sizes, size_of(acc_dtype), training ? sharding : Sharding{}, dp.rank(), dp.size(), frozen);
  const Shape whole{layout_.elements};
  flat_value_ = context_.zeros(whole, compute);
  master_ = compute == acc_dtype ? FlatBuffer::whole(layout_, flat_value_)
                                 : FlatBuffer::shard(layout_, context_.zeros(Shape{layout_.owned_elements}, acc_dtype));
  if (training) {
    const Shape trained{layout_.elements - layout_.trained_begin};
    if (layout_.zero != ZeroStage::Gradients) flat_gradient_ = context_.zeros(trained, acc_dtype);
    reduced_gradient_ = layout_.sharded() ? make_state() : FlatBuffer::trained_whole(layout_, flat_gradient_);
  }
  if (layout_.sharded()) gather_ = std::make_unique<WeightGather>(context_, mesh_.dp(), layout_, flat_value_);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Parameter& p = *parameters_[i];
    p.flat_offset_ = layout_.offsets[i];
    p.value_ = flat_value_.flat(p.flat_offset_, p.local_shape_);
    p.gather_ = gather_.get(), p.bucket_ = static_cast<size_t>(layout_.bucket_of[i]);
  }
}

const Tensor& Parameter::value() const {
  if (gather_) gather_->await(bucket_);
  return value_;
}

FlatBuffer ParameterRegistry::make_state() const {
  const DType acc_dtype = accumulator_of(compute_dtype(precision_));
  return FlatBuffer::trained_shard(layout_, context_.zeros(Shape{layout_.trained_owned_elements}, acc_dtype));
}

// Each replica draws the whole parameter on its host, in pieces, and keeps the part that it owns.
template <class T>
void ParameterRegistry::draw_masters(const Parameter& p, uint64_t seed) {
  constexpr int64_t kPiece = int64_t{1} << 20;
  const LocalRows rows(p.spec_.shape, p.extent_, local_origin(p));
  const Philox philox(hash64(p.spec_.name, seed));
  const int64_t columns = rows.columns(), at_once = std::max<int64_t>(1, kPiece / std::max<int64_t>(1, columns));
  std::vector<T> drawn;
  for (int64_t first = 0; first < rows.rows(); first += at_once) {
    const int64_t n = std::min(at_once, rows.rows() - first);
    context_.note_progress();
    drawn.resize(static_cast<size_t>(n * columns));
    parallel_for(context_.threads(), n, 16, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        draw_run(p.spec_, philox, rows.global_index(first + r), columns, drawn.data() + r * columns);
      }
    });
    const int64_t begin = p.flat_offset_ + first * columns;
    for (const FlatRange& part : master_.parts({begin, begin + n * columns})) {
      upload(
          context_,
          std::span<const T>(drawn).subspan(static_cast<size_t>(part.begin - begin), static_cast<size_t>(part.size())),
          master_.piece(part));
    }
  }
}

void ParameterRegistry::initialise(uint64_t seed) {
  await_weights();
  for (const auto& p : parameters_) {
    if (context_.meta()) break;
    precision_ == Precision::Fp64 ? draw_masters<double>(*p, seed) : draw_masters<float>(*p, seed);
  }
  sync_compute_weights();
}

Tensor ParameterRegistry::rounded_value(size_t owned) const {
  if (flat_value_.storage() == master_.data.storage()) return {};
  const FlatRange& range = layout_.owned[owned];
  return flat_value_.flat(range.begin, Shape{range.size()});
}

void ParameterRegistry::note_updated(size_t owned) {
  ++weights_version_;
  if (gather_) gather_->updated(owned);
}

void ParameterRegistry::note_updated_by_graph() {
  ++weights_version_;
  if (gather_) gather_->updated_by_graph();
}

void ParameterRegistry::await_weights() const {
  if (gather_) gather_->await_started();
}

void ParameterRegistry::finish_weight_gather() {
  if (gather_) gather_->start_due();
  await_weights();
}

const Tensor& ParameterRegistry::flat_value() const {
  if (gather_) gather_->await_all();
  return flat_value_;
}

void ParameterRegistry::sync_compute_weights() {
  await_weights();
  for (size_t i = layout_.owned.size(); i-- > 0;) {
    if (const Tensor value = rounded_value(i)) convert(context_, master_.piece(layout_.owned[i]), value);
    note_updated(i);
  }
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
  for (const GridAxis& grid : kReplicaAxes) {
    const std::optional<int> dim = parameter.spec_.placement.dim(grid.axis);
    if (!dim) continue;
    const int rank = mesh_.on(grid.axis).rank();
    origin[*dim] = std::min(parameter.local_shape_[*dim] * rank, parameter.spec_.shape[*dim]);
  }
  return origin;
}

bool ParameterRegistry::counts(const Parameter& parameter) const {
  return std::ranges::all_of(kReplicaAxes, [&](const GridAxis& grid) {
    return parameter.spec_.placement.dim(grid.axis).has_value() || mesh_.on(grid.axis).rank() == 0;
  });
}

}  // namespace weft
