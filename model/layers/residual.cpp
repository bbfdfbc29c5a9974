// SPDX-License-Identifier: Apache-2.0
#include "model/layers/residual.h"

#include "base/enum_table.h"
#include "kernels/ops/residual_norm.h"

namespace weft {
namespace {

constexpr EnumTable<NormPlacement, NormInput> kNormInput = {{NormPlacement::Pre, NormInput::Stream},
                                                            {NormPlacement::Post, NormInput::Sum},
                                                            {NormPlacement::Branch, NormInput::Output}};

// The memory is gathered over tp once for all blocks, and the ranks add up its gradient there: in a block each rank has
// a part of it.
AxisSet partial_over(const LayerScope& scope, NormInput norm_input) {
  return norm_input == NormInput::Memory ? scope.shards.product_axes() : scope.shards.sequence_axes();
}

// The inputs of one residual_norm's backward.
struct SavedResidual {
  Var x, residual, sum, normed;  // residual, normed: null if there is no sum, no norm
  Tensor mean, rstd;
  NormKind kind = NormKind::Layer;
  Dropout dropout;
  ParameterUse bias, gamma, beta;
};

// Whether the branch's output has the gradient of the stream before it, which is then written once: without dropout
// both are that of the sum. The branch has used it by the time that the stream's is replaced by an earlier one.
bool shares_gradient(const SavedResidual& s, const Gradient& dresidual) {
  return dresidual && dresidual.mode == Accumulate::Overwrite && !s.dropout.active() && s.x->needs_gradient &&
         !s.x->gradient && s.x->gradient_dtype == s.residual->gradient_dtype;
}

void backward(Tape& tape, const SavedResidual& s) {
  ResidualNormBackward back{.dnormed = s.normed ? s.normed->gradient : Tensor{},
                            .sum = s.sum->value,
                            .gamma = s.gamma.value(),
                            .mean = s.mean,
                            .rstd = s.rstd,
                            .kind = s.kind,
                            .dropout = s.dropout};
  // Without a branch the norm reads the stream itself: its gradient is added to x's other contributions.
  if (s.residual) back.dsum = s.sum->gradient;
  if (s.residual && s.residual->needs_gradient) {
    if (!s.residual->gradient && s.sum->gradient) {
      s.residual->gradient = s.sum->gradient;
      back.dresidual = {s.sum->gradient, Accumulate::Overwrite};
    } else {
      back.dresidual = tape.gradient(s.residual);
    }
  }
  if (shares_gradient(s, back.dresidual)) {
    s.x->gradient = back.dresidual.tensor;
  } else {
    back.dx = tape.gradient(s.x);
  }
  back.dbias = s.bias.gradient(), back.dgamma = s.gamma.gradient(), back.dbeta = s.beta.gradient();
  residual_norm_backward(tape.context(), back);
}

// Queues one residual_norm of s.x, with the bias, s.dropout and s.residual if they are there. Its sum has `dtype`: it
// is s.x itself if nothing is added and nothing is to be rounded.
struct SumAndNorm {
  Var sum, normed;
};
SumAndNorm sum_and_norm(ForwardContext& forward, SavedResidual s, const Parameter* bias, const Norm* norm,
                        DType dtype) {
  Tape& tape = forward.tape;
  Context& context = tape.context();
  const Shape shape = s.x->value.shape();
  const DType acc_dtype = accumulator_of(dtype);
  const bool sums = s.residual || bias || s.dropout.active() || s.x->value.dtype() != dtype;
  s.sum = sums ? tape.variable(context.empty(shape, dtype)) : s.x;
  if (norm) {
    s.normed = tape.variable(context.empty(shape, dtype));
    s.kind = norm->kind();
    if (s.kind == NormKind::Layer) s.mean = context.empty({shape[0]}, acc_dtype);
    s.rstd = context.empty({shape[0]}, acc_dtype);
  }
  s.bias = tape.use(bias);
  s.gamma = tape.use(norm ? norm->gamma() : nullptr);
  s.beta = tape.use(norm ? norm->beta() : nullptr);
  residual_norm_forward(context, {.x = s.x->value,
                                  .bias = s.bias.value(),
                                  .dropout = s.dropout,
                                  .residual = s.residual ? s.residual->value : Tensor{},
                                  .gamma = s.gamma.value(),
                                  .beta = s.beta.value(),
                                  .kind = s.kind,
                                  .epsilon = norm ? norm->epsilon() : 1e-5,
                                  .sum = sums ? s.sum->value : Tensor{},
                                  .normed = s.normed ? s.normed->value : Tensor{},
                                  .mean = s.mean,
                                  .rstd = s.rstd});
  // Backward reads the sum, and only the shape of the branch's output, which is therefore released. The first pass of a
  // recomputed segment does not release it.
  if (sums && tape.recording()) s.x->value = {};
  const SumAndNorm result{s.sum, s.normed};
  tape.push([&tape, s = std::move(s)] { backward(tape, s); });
  return result;
}

}  // namespace

NormInput Branch::norm_input(const TransformerConfig& config) { return kNormInput[config.norm_placement]; }

Branch::Branch(LayerScope& scope, const std::string& name, NormInput norm_input)
    : norm_(scope, name + "_norm", partial_over(scope, norm_input)),
      norm_input_(norm_input),
      dropout_(scope.config.dropout.residual),
      dropout_id_(scope.dropout_id(name + ".residual")) {}

Var Residual::branch_input(ForwardContext& forward, const Branch& branch, const Tokens& tokens) {
  return branch.norm_input_ == NormInput::Stream ? normed(forward, branch.norm_, tokens) : value(forward, tokens);
}

// In post-LN the branch's own norm follows at once; otherwise the branch waits for the next norm.
void Residual::add(ForwardContext& forward, const Branch& branch, Var output, const Parameter* bias,
                   const Tokens& tokens) {
  if (branch.norm_input_ == NormInput::Output) {
    output = sum_and_norm(forward, {.x = std::move(output)}, bias, &branch.norm_, dtype()).normed;
    bias = nullptr;
  }
  pending_ = std::move(output);
  bias_ = bias, dropout_ = branch.dropout_, dropout_id_ = branch.dropout_id_;
  if (branch.norm_input_ == NormInput::Sum) value_ = join(forward, tokens, &branch.norm_);
}

Var Residual::normed(ForwardContext& forward, const Norm& norm, const Tokens& tokens) {
  return join(forward, tokens, &norm);
}

Var Residual::value(ForwardContext& forward, const Tokens& tokens) {
  if (pending_) join(forward, tokens);
  return value_;
}

void Residual::segment(ForwardContext& forward, const Var& memory, const Body& body) {
  if (forward.recompute != Recompute::Block || !forward.tape.training()) return body(forward, *this, memory);
  const auto before = std::make_shared<const Residual>(*this);
  const auto after = std::make_shared<Residual>(*this);
  const ForwardContext outer = forward;
  const auto run = [before, after, outer, body](Tape& tape, const std::vector<Var>& in) -> std::vector<Var> {
    ForwardContext inner{tape, outer.step};
    Residual stream = *before;
    stream.value_ = in[0], stream.pending_ = in[1];
    body(inner, stream, in[2]);
    *after = stream;
    return {stream.value_, stream.pending_};
  };
  const auto out = forward.tape.recompute({value_, pending_, memory}, run);
  *this = *after;
  value_ = out[0], pending_ = out[1];
  after->value_ = nullptr, after->pending_ = nullptr;
}

// Joins the waiting branch, if any, in one residual_norm. The stream's value becomes the sum. Returns its norm, or null
// if `norm` is null.
Var Residual::join(ForwardContext& forward, const Tokens& tokens, const Norm* norm) {
  SavedResidual s{.x = pending_ ? pending_ : value_, .residual = pending_ ? value_ : nullptr};
  if (pending_) s.dropout = forward.dropout(dropout_, dropout_id_, tokens->residual.ids);
  const auto [sum, normed] = sum_and_norm(forward, std::move(s), pending_ ? bias_ : nullptr, norm, dtype());
  value_ = sum;
  pending_ = nullptr;
  return normed;
}

}  // namespace weft
