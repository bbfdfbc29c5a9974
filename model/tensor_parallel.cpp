#include "model/tensor_parallel.h"

#include "kernels/plain.h"
#include "model/layers.h"

namespace weft {
namespace {

// Runs sum(wide) on `t` in the accumulator dtype: on its own memory where that is its dtype.
template <class Sum>
void in_wide(Context& context, const Tensor& t, Sum&& sum) {
  const DType wide = accumulator_of(t.dtype());
  if (t.dtype() == wide) return sum(t);
  const Tensor copy = context.empty(t.shape(), wide);
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

int64_t part_rows(int64_t rows, int64_t ranks) { return (rows + ranks - 1) / ranks; }

}  // namespace

// Decoding has few rows, and a row must not depend on the rows beside it: they stay whole.
bool TensorParallel::divides_rows(const ForwardContext& forward) const { return sequence_ && !forward.fixed_blocks; }

Rows TensorParallel::place(const ForwardContext& forward, Rows rows) const {
  rows.stream = rows.ids;
  if (!divides_rows(forward)) return rows;
  Context& context = forward.context();
  const int64_t n = part_rows(rows.count(), tp_.size()), begin = std::min(n * tp_.rank(), rows.count()),
                end = std::min(begin + n, rows.count());
  const auto part = [&](const Tensor& ids) {
    const Tensor out = context.zeros({n}, ids.dtype());
    if (!context.meta() && end > begin) {
      std::copy(ids.data<int32_t>() + begin, ids.data<int32_t>() + end, out.data<int32_t>());
    }
    return out;
  };
  rows.stream = {part(rows.ids.sample), part(rows.ids.position)};
  return rows;
}

void TensorParallel::all_reduce(Context& context, const Tensor& part) const {
  in_wide(context, part, [&](const Tensor& wide) { tp_.all_reduce(wide); });
}

// The order in which a vendor's all-reduce adds may depend on where in a message an element lies: decoding, whose
// rows must not depend on each other, adds the ranks' parts in their order itself.
void TensorParallel::sum_in_rank_order(Context& context, const Tensor& part) const {
  in_wide(context, part, [&](const Tensor& wide) {
    const Tensor all = context.empty({tp_.size(), wide.elements()}, wide.dtype());
    tp_.all_gather(wide, all);
    convert(context, all.slice(0, 1).flat(0, wide.shape()), wide);
    for (int r = 1; r < tp_.size(); ++r) add_scaled(context, all.slice(r, r + 1).flat(0, wide.shape()), 1, wide);
  });
}

Tensor TensorParallel::gather(Context& context, const Tensor& stream, int64_t rows) const {
  const Tensor all = context.empty({stream.size(0) * tp_.size(), stream.columns()}, stream.dtype());
  tp_.all_gather(stream, all);
  return all.slice(0, rows);
}

Tensor TensorParallel::reduce_scatter(Context& context, const Tensor& part) const {
  const int64_t n = part_rows(part.size(0), tp_.size()), padded = n * tp_.size();
  const DType wide = accumulator_of(part.dtype());
  Tensor in = part;
  if (wide != part.dtype() || padded != part.size(0)) {
    in = context.zeros({padded, part.columns()}, wide);
    convert(context, part, in.slice(0, part.size(0)));
  }
  const Tensor sum = context.empty({n, part.columns()}, wide);
  tp_.reduce_scatter(in, sum);
  if (wide == part.dtype()) return sum;
  const Tensor out = context.empty(sum.shape(), part.dtype());
  convert(context, sum, out);
  return out;
}

Var TensorParallel::enter(ForwardContext& forward, const Var& x, const Rows& rows) const {
  if (!active()) return x;
  Tape& tape = forward.tape;
  if (divides_rows(forward)) {
    const Var y = tape.variable(gather(tape.context(), x->value, rows.count()));
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

Var TensorParallel::leave(ForwardContext& forward, const Var& part, const Rows& rows) const {
  if (!active()) return part;
  Tape& tape = forward.tape;
  if (divides_rows(forward)) {
    const Var y = tape.variable(reduce_scatter(tape.context(), part->value));
    tape.push([this, &tape, part, y, n = rows.count()] {
      give_gradient(tape, part, gather(tape.context(), y->gradient, n));
    });
    return y;
  }
  if (forward.fixed_blocks) {
    sum_in_rank_order(tape.context(), part->value);
  } else {
    all_reduce(tape.context(), part->value);
  }
  const Var y = tape.variable(part->value);
  tape.push([&tape, part, y] { give_gradient(tape, part, y->gradient); });
  return y;
}

}  // namespace weft
