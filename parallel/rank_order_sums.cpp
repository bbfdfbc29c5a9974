// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_order_sums.h"

#include "base/divide_up.h"
#include "kernels/ops/elementwise.h"

namespace weft {

void add_parts(Context& context, const Tensor& parts, const Tensor& out) {
  const DType exact = accumulator_of(out.dtype());
  const Tensor sum = out.dtype() == exact ? out : context.empty(out.shape(), exact);
  const auto part = [&](int64_t rank) { return parts.slice(rank, rank + 1).flat(0, out.shape()); };
  convert(context, part(0), sum);
  for (int64_t rank = 1; rank < parts.size(0); ++rank) add_scaled(context, part(rank), 1, sum);
  if (out.dtype() != exact) convert(context, sum, out);
}

void reduce_scatter_bf16(Context& context, Communicator& axis, const Tensor& in, const Tensor& out) {
  const Tensor parts = context.empty({axis.size(), out.elements()}, in.dtype());
  axis.all_to_all(in, parts);
  add_parts(context, parts, out);
}

void all_reduce_bf16(Context& context, Communicator& axis, const Tensor& in_place) {
  const int64_t n = in_place.elements(), share = divide_up(n, axis.size()), whole = share * axis.size();
  const Tensor flat = in_place.flat(0, Shape{n});
  const Tensor filled = whole == n ? flat : context.zeros({whole}, in_place.dtype());
  if (whole > n) convert(context, flat, filled.slice(0, n));
  const Tensor mine = filled.flat(axis.rank() * share, Shape{share});  // reused: the all-to-all has sent it
  reduce_scatter_bf16(context, axis, filled, mine);
  axis.all_gather(mine, filled);
  if (whole > n) convert(context, filled.slice(0, n), flat);
}

RoundedSum::RoundedSum(Context& context, Communicator& axis, const Tensor& in, CollectiveUse use)
    : context_(context), axis_(axis), use_(use), share_(divide_up(in.elements(), axis.size())) {
  const int64_t n = in.elements(), whole = share_ * axis.size();
  sent_ = context.empty({whole}, DType::BF16);
  parts_ = context.empty({axis.size(), share_}, DType::BF16);
  if (whole > n) fill(context, sent_.slice(n, whole), 0);
  convert(context, in.flat(0, Shape{n}), sent_.slice(0, n));
  exchange_ = axis.start_all_to_all(sent_, parts_, use);
}

void RoundedSum::add(const Tensor& out) {
  exchange_->wait();
  exchange_.reset();
  add_parts(context_, parts_, out);
  parts_ = {};
}

void RoundedSum::gather() {
  const Tensor mine = sent_.flat(axis_.rank() * share_, Shape{share_});  // reused: the all-to-all has sent it
  add(mine);
  gather_ = axis_.start_all_gather(mine, sent_, use_);
}

void RoundedSum::finish(const Tensor& out) {
  if (!gather_) gather();
  gather_->wait();
  convert(context_, sent_.slice(0, out.elements()), out.flat(0, Shape{out.elements()}));
}

}  // namespace weft
