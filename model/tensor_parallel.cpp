#include "model/tensor_parallel.h"

#include "kernels/elementwise.h"
#include "model/forward_context.h"

namespace weft {
namespace {

// Runs sum(acc) on `t` in the accumulator dtype: on its own memory if that is its dtype.
template <class Sum>
void with_accumulator(Context& context, const Tensor& t, Sum&& sum) {
  const DType acc_dtype = accumulator_of(t.dtype());
  if (t.dtype() == acc_dtype) return sum(t);
  const Tensor copy = context.empty(t.shape(), acc_dtype);
  convert(context, t, copy);
  sum(copy);
  convert(context, copy, t);
}

// Adds what comes back through a collective to the gradient of its input, or makes it that gradient.
void give_gradient(Tape& tape, const Var& x, const Tensor& gradient) {
  if (!x->needs_gradient) return;
  if (x->gradient) {
    add_scaled(tape.context(), gradient, 1, x->gradient);
  } else {
    x->gradient = gradient;
  }
}

}  // namespace

// Decoding has few tokens, and one must not depend on those beside it: they stay replicated.
bool TensorParallel::shards_tokens(const ForwardContext& forward) const {
  return sequence_ && !forward.batch_invariant;
}

void TensorParallel::all_reduce(Context& context, const Tensor& part) const {
  with_accumulator(context, part, [&](const Tensor& acc) { tp_.all_reduce(acc); });
}

// The order in which a vendor's all-reduce adds may depend on where in a message an element lies: decoding, whose
// tokens must not depend on each other, adds the ranks' parts in their order itself.
void TensorParallel::sum_in_rank_order(Context& context, const Tensor& part) const {
  with_accumulator(context, part, [&](const Tensor& acc) {
    const Tensor all = context.empty({tp_.size(), acc.elements()}, acc.dtype());
    tp_.all_gather(acc, all);
    convert(context, all.slice(0, 1).flat(0, acc.shape()), acc);
    for (int r = 1; r < tp_.size(); ++r) add_scaled(context, all.slice(r, r + 1).flat(0, acc.shape()), 1, acc);
  });
}

Tensor TensorParallel::gather(Context& context, const Tensor& part, int64_t tokens) const {
  const Tensor all = context.empty({part.size(0) * tp_.size(), part.columns()}, part.dtype());
  tp_.all_gather(part, all);
  return all.slice(0, tokens);
}

Tensor TensorParallel::reduce_scatter(Context& context, const Tensor& part) const {
  const int64_t n = residual_part().tokens(part.size(0)), padded = n * tp_.size();
  const DType acc_dtype = accumulator_of(part.dtype());
  Tensor in = part;
  if (acc_dtype != part.dtype() || padded != part.size(0)) {
    in = context.zeros({padded, part.columns()}, acc_dtype);
    convert(context, part, in.slice(0, part.size(0)));
  }
  const Tensor sum = context.empty({n, part.columns()}, acc_dtype);
  tp_.reduce_scatter(in, sum);
  if (acc_dtype == part.dtype()) return sum;
  const Tensor out = context.empty(sum.shape(), part.dtype());
  convert(context, sum, out);
  return out;
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
  if (forward.batch_invariant) {
    sum_in_rank_order(tape.context(), part->value);
  } else {
    all_reduce(tape.context(), part->value);
  }
  const Var y = tape.variable(std::move(part->value), part->gradient_dtype);
  tape.push([&tape, part, y] { give_gradient(tape, part, y->gradient); });
  return y;
}

}  // namespace weft
