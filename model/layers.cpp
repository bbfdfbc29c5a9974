#include "model/layers.h"

#include <algorithm>
#include <cmath>

#include "kernels/linear.h"
#include "kernels/plain.h"
#include "kernels/residual_norm.h"
#include "model/cache.h"

namespace weft {

Dropout ForwardContext::dropout(double probability, uint32_t operation, const RowIds& rows) const {
  if (!tape.training() || probability <= 0) return {};
  return {.probability = probability, .operation = operation, .first_channel = 0, .state = state, .rows = rows};
}

Init LayerScope::weight_init(int64_t in, int64_t out, bool residual_branch) const {
  if (config.init == InitScheme::Xavier) return Init::uniform(std::sqrt(6.0 / static_cast<double>(in + out)));
  const double branches = 2.0 * static_cast<double>(config.layers);
  return Init::normal(config.init_std / (residual_branch ? std::sqrt(branches) : 1.0));
}

Init LayerScope::embedding_init(int64_t width) const {
  if (config.init == InitScheme::Xavier) return Init::normal(1 / std::sqrt(static_cast<double>(width)));
  return Init::normal(config.init_std);
}

namespace {
int sharded_dim(const Linear::Options& o) {
  switch (o.sharding) {
    case LinearSharding::ColumnParallel:
      return 0;
    case LinearSharding::RowParallel:
      return o.shape.rank() - 1;
    default:
      return -1;
  }
}
}  // namespace

Linear::Linear(LayerScope& scope, const Options& o)
    : weight_(&scope.registry.add({.name = o.name + ".weight",
                                   .shape = o.shape,
                                   .init = o.init,
                                   .decays = true,
                                   .tp_dim = sharded_dim(o),
                                   .partial_over_tp = o.sharding == LinearSharding::None && scope.shards.sequence()})),
      shards_(scope.shards),
      sharding_(o.sharding),
      full_rows_in_(o.full_rows_in),
      bias_in_residual_(o.bias_in_residual),
      activation_(o.activation),
      dropout_(o.dropout),
      site_(scope.sites.next()) {
  if (!o.bias) return;
  // The bias of a row-parallel product is added once, to stream rows.
  const bool sharded = o.sharding == LinearSharding::ColumnParallel;
  bias_ = &scope.registry.add({.name = o.name + ".bias",
                               .shape = Shape(o.shape.dims().first(o.shape.rank() - 1)),
                               .tp_dim = sharded ? 0 : -1,
                               .partial_over_tp = !sharded && scope.shards.sequence()});
}

namespace {
constexpr int64_t kFixedRows = 16;

// The product in blocks of kFixedRows rows, the last one filled up with zeros.
void fixed_block_linear(Context& context, const LinearForward& args) {
  const int64_t rows = args.x.size(0);
  for (int64_t begin = 0; begin < rows; begin += kFixedRows) {
    const int64_t n = std::min(kFixedRows, rows - begin);
    LinearForward block = args;
    block.x = args.x.slice(begin, begin + n), block.y = args.y.slice(begin, begin + n);
    if (n < kFixedRows) {
      block.x = context.zeros({kFixedRows, args.x.columns()}, args.x.dtype());
      block.y = context.empty({kFixedRows, args.y.columns()}, args.y.dtype());
      convert(context, args.x.slice(begin, begin + n), block.x.slice(0, n));
    }
    linear_forward(context, block);
    if (n < kFixedRows) convert(context, block.y.slice(0, n), args.y.slice(begin, begin + n));
  }
}
}  // namespace

void product(ForwardContext& forward, const LinearForward& args) {
  if (!forward.fixed_blocks) return linear_forward(forward.context(), args);
  LinearForward packed = args;
  if (forward.cache && !forward.context().meta())
    packed.packed = &forward.cache->packed(forward.context(), args.weight);
  fixed_block_linear(forward.context(), packed);
}

Var Linear::operator()(ForwardContext& forward, const Var& input, const Rows& rows) const {
  Tape& tape = forward.tape;
  const Var x =
      sharding_ == LinearSharding::ColumnParallel && !full_rows_in_ ? shards_.enter(forward, input, rows) : input;
  const int64_t out = weight_->local_shape().elements() / weight_->local_shape()[-1];
  const int64_t n = x->value.rows();
  Parameter* bias = bias_in_residual_ ? nullptr : bias_;
  const DType dtype = x->value.dtype();
  Tensor pre;
  if (activation_ != Activation::None && tape.recording()) pre = tape.context().empty({n, out}, dtype);
  const Var y = tape.variable(tape.context().empty({n, out}, dtype));
  Dropout dropout = forward.dropout(dropout_, site_, sharding_ == LinearSharding::None ? rows.stream : rows.ids);
  if (sharding_ == LinearSharding::ColumnParallel) dropout.first_channel = shards_.first(out);
  product(forward, {.x = x->value,
                    .weight = weight_->value(),
                    .bias = bias ? bias->value() : Tensor{},
                    .activation = activation_,
                    .dropout = dropout,
                    .y = y->value,
                    .pre = pre});
  tape.use(*weight_);
  if (bias) tape.use(*bias);
  tape.push([&tape, x, y, pre, dropout, bias, weight = weight_, activation = activation_] {
    const GradientSlot dx = tape.slot(x);
    LinearBackward back{.dy = y->gradient,
                        .x = x->value,
                        .weight = weight->value(),
                        .pre = pre,
                        .activation = activation,
                        .dropout = dropout,
                        .dx = dx.tensor,
                        .dx_mode = dx.mode};
    back.dweight = weight->gradient();
    back.dweight_mode = weight->gradient_mode();
    if (bias) back.dbias = bias->gradient(), back.dbias_mode = bias->gradient_mode();
    linear_backward(tape.context(), back);
    tape.contributed(*weight);
    if (bias) tape.contributed(*bias);
  });
  return sharding_ == LinearSharding::RowParallel ? shards_.leave(forward, y, rows) : y;
}

Norm::Norm(LayerScope& scope, const std::string& name)
    : gamma_(&scope.registry.add({.name = name + ".weight",
                                  .shape = {scope.config.width},
                                  .init = Init::ones(),
                                  .partial_over_tp = scope.shards.sequence()})),
      epsilon_(scope.config.norm_epsilon) {
  if (scope.config.norm_bias) {
    beta_ = &scope.registry.add(
        {.name = name + ".bias", .shape = {scope.config.width}, .partial_over_tp = scope.shards.sequence()});
  }
}

void Residual::add(Var branch, Parameter* bias, double dropout, uint32_t site) {
  branch_ = std::move(branch);
  bias_ = bias;
  dropout_ = dropout;
  site_ = site;
}

Var Residual::normed(ForwardContext& forward, const Norm& norm, const Rows& rows) {
  return join(forward, &norm, rows, true);
}

void Residual::normalise(ForwardContext& forward, const Norm& norm, const Rows& rows) {
  value_ = join(forward, &norm, rows, false);
}

Var Residual::value(ForwardContext& forward, const Rows& rows) {
  if (branch_) join(forward, nullptr, rows, true);
  return value_;
}

void Residual::segment(ForwardContext& forward, const Var& memory, const Body& body) {
  if (forward.recompute != Recompute::Block || !forward.tape.training()) return body(forward, *this, memory);
  const auto before = std::make_shared<const Residual>(*this);
  const auto after = std::make_shared<Residual>(*this);
  const ForwardContext outer = forward;
  const auto run = [before, after, outer, body](Tape& tape, const std::vector<Var>& in) -> std::vector<Var> {
    ForwardContext inner{tape, outer.state};
    Residual stream = *before;
    stream.value_ = in[0], stream.branch_ = in[1];
    body(inner, stream, in[2]);
    *after = stream;
    return {stream.value_, stream.branch_};
  };
  const auto out = forward.tape.recompute({value_, branch_, memory}, run);
  *this = *after;
  value_ = out[0], branch_ = out[1];
  after->value_ = nullptr, after->branch_ = nullptr;
}

// One residual_norm: what is absent (branch, norm) is left out. With keep_sum the stream's value becomes the sum.
Var Residual::join(ForwardContext& forward, const Norm* norm, const Rows& rows, bool keep_sum) {
  Tape& tape = forward.tape;
  Context& context = tape.context();
  const Var residual = branch_ ? value_ : nullptr;
  const Var x = branch_ ? branch_ : value_;
  const Shape shape = x->value.shape();
  const DType dtype = x->value.dtype();
  const Var sum = branch_ ? tape.variable(context.empty(shape, dtype)) : x;
  const Var out = norm ? tape.variable(context.empty(shape, dtype)) : nullptr;
  Tensor mean, rstd;
  if (norm) {
    mean = context.empty({shape[0]}, accumulator_of(dtype));
    rstd = context.empty({shape[0]}, accumulator_of(dtype));
  }
  Parameter* bias = branch_ ? bias_ : nullptr;
  const Dropout dropout = branch_ ? forward.dropout(dropout_, site_, rows.stream) : Dropout{};
  residual_norm_forward(context, {.x = x->value,
                                  .bias = bias ? bias->value() : Tensor{},
                                  .dropout = dropout,
                                  .residual = residual ? residual->value : Tensor{},
                                  .gamma = norm ? norm->gamma().value() : Tensor{},
                                  .beta = norm && norm->beta() ? norm->beta()->value() : Tensor{},
                                  .epsilon = norm ? norm->epsilon() : 1e-5,
                                  .sum = branch_ ? sum->value : Tensor{},
                                  .normed = out ? out->value : Tensor{},
                                  .mean = mean,
                                  .rstd = rstd});
  Parameter* gamma = norm ? &norm->gamma() : nullptr;
  Parameter* beta = norm ? norm->beta() : nullptr;
  for (Parameter* p : {bias, gamma, beta}) {
    if (p) tape.use(*p);
  }
  tape.push([&tape, x, residual, sum, out, mean, rstd, dropout, bias, gamma, beta] {
    ResidualNormBackward back{.dnormed = out ? out->gradient : Tensor{},
                              .sum = sum->value,
                              .gamma = gamma ? gamma->value() : Tensor{},
                              .mean = mean,
                              .rstd = rstd,
                              .dropout = dropout};
    // Without a branch the norm reads the stream itself: its gradient joins what has come to x by other ways.
    if (residual) back.dsum = sum->gradient;
    const GradientSlot dx = tape.slot(x);
    back.dx = dx.tensor, back.dx_mode = dx.mode;
    if (residual && residual->needs_gradient) {
      if (!residual->gradient && sum->gradient)
        residual->gradient = sum->gradient, back.dresidual = sum->gradient;
      else {
        const GradientSlot slot = tape.slot(residual);
        back.dresidual = slot.tensor, back.dresidual_mode = slot.mode;
      }
    }
    if (bias) back.dbias = bias->gradient(), back.dbias_mode = bias->gradient_mode();
    if (gamma) back.dgamma = gamma->gradient(), back.dnorm_mode = gamma->gradient_mode();
    if (beta) back.dbeta = beta->gradient(), beta->gradient_mode();
    residual_norm_backward(tape.context(), back);
    for (Parameter* p : {bias, gamma, beta}) {
      if (p) tape.contributed(*p);
    }
  });
  if (keep_sum) value_ = sum;
  branch_ = nullptr;
  return out;
}

}  // namespace weft
