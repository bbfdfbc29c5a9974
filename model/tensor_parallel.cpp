// SPDX-License-Identifier: Apache-2.0
#include "model/tensor_parallel.h"

#include "kernels/ops/elementwise.h"
#include "model/forward_context.h"
#include "parallel/rank_order_sums.h"

namespace weft {
namespace {

// Adds the result of a backward collective to the gradient of x, or makes it the gradient if x has none yet.
void give_gradient(Tape& tape, const Var& x, const Tensor& gradient) {
  if (!x->needs_gradient) return;
  if (x->gradient) {
    add_scaled(tape.context(), gradient, 1, x->gradient);
  } else {
    x->gradient = gradient;
  }
}

}  // namespace

// Decoding has few tokens, whose bits must not depend on each other: they stay replicated.
bool TensorParallel::shards_tokens(const ForwardContext& forward) const {
  return sequence_ && !forward.batch_invariant;
}

void TensorParallel::all_reduce(Context& context, const Tensor& part) const {
  if (part.dtype() == DType::BF16) return all_reduce_bf16(context, tp_, part);
  tp_.all_reduce(part);
}

// The order in which a vendor's all-reduce adds may depend on the element's position in the message. Tokens being
// decoded must not depend on each other, so decoding gathers the parts and adds them in rank order itself.
void TensorParallel::sum_in_rank_order(Context& context, const Tensor& part) const {
  const Tensor all = context.empty({tp_.size(), part.elements()}, part.dtype());
  tp_.all_gather(part, all);
  add_parts(context, all, part);
}

Tensor TensorParallel::gather(Context& context, const Tensor& part, int64_t tokens) const {
  const Tensor all = context.empty({part.size(0) * tp_.size(), part.columns()}, part.dtype());
  tp_.all_gather(part, all);
  return all.slice(0, tokens);
}

Tensor TensorParallel::reduce_scatter(Context& context, const Tensor& part) const {
  const int64_t n = residual_part().tokens(part.size(0)), padded = n * tp_.size();
  Tensor in = part;
  if (padded != part.size(0)) {
    in = context.zeros({padded, part.columns()}, part.dtype());
    convert(context, part, in.slice(0, part.size(0)));
  }
  const Tensor sum = context.empty({n, part.columns()}, part.dtype());
  if (part.dtype() == DType::BF16) {
    reduce_scatter_bf16(context, tp_, in, sum);
  } else {
    tp_.reduce_scatter(in, sum);
  }
  return sum;
}

void TensorParallel::sum(ForwardContext& forward, const Tensor& part) const {
  if (!active()) return;
  if (forward.batch_invariant) return sum_in_rank_order(forward.context(), part);
  all_reduce(forward.context(), part);
}

void TensorParallel::sum_gradient(Context& context, const Tensor& part) const {
  if (active()) all_reduce(context, part);
}

Var TensorParallel::copy_or_gather(ForwardContext& forward, const Var& x, const Tokens& tokens) const {
  if (!active()) return x;
  Tape& tape = forward.tape;
  if (shards_tokens(forward)) {
    const Var y = tape.variable(gather(tape.context(), x->value, tokens->count()));
    tape.push([this, &tape, x, y] {
      if (x->needs_gradient) give_gradient(tape, x, reduce_scatter(tape.context(), y->gradient));
    });
    return y;
  }
  const Var y = tape.variable(x->value);
  tape.push([this, &tape, x, y] {
    if (!x->needs_gradient) return;
    all_reduce(tape.context(), y->gradient);
    give_gradient(tape, x, y->gradient);
  });
  return y;
}

Var TensorParallel::reduce_or_scatter(ForwardContext& forward, const Var& part, const Tokens& tokens) const {
  if (!active()) return part;
  Tape& tape = forward.tape;
  if (shards_tokens(forward)) {
    const Var y = tape.variable(reduce_scatter(tape.context(), part->value), part->gradient_dtype);
    part->value = {};
    tape.push([this, &tape, part, y, n = tokens->count()] {
      give_gradient(tape, part, gather(tape.context(), y->gradient, n));
    });
    return y;
  }
  sum(forward, part->value);
  const Var y = tape.variable(std::move(part->value), part->gradient_dtype);
  tape.push([&tape, part, y] { give_gradient(tape, part, y->gradient); });
  return y;
}

}  // namespace weft
