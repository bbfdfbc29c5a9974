// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "kernels/context.h"
#include "parallel/communicator.h"

namespace weft {

// Sums over an axis that weft adds itself, from parts that are exchanged unchanged: in rank order, in the accumulator
// dtype, rounded once at the end. Their bits do not depend on the library that exchanges the parts.

// out = the sum of parts' rows, in their order; parts [ranks, ...] has out's dtype, or bf16 if out is f32, and, per
// row, out's elements.
void add_parts(Context& context, const Tensor& parts, const Tensor& out);

// Sums bf16 tensors, exchanged at 2 bytes per element, half of what fp32 sums send: an all-to-all brings each rank all
// parts of its own share, which the rank adds; an all-gather brings the sums to all ranks. If the number of elements is
// not a multiple of the ranks, a padded copy is exchanged.
void all_reduce_bf16(Context& context, Communicator& axis, const Tensor& in_place);
// The reduce-scatter alone, without the gather: elements of in = axis.size() * elements of out.
void reduce_scatter_bf16(Context& context, Communicator& axis, const Tensor& in, const Tensor& out);

// The sum of fp32 tensors that are exchanged in bf16, with other work between the calls. Every rank rounds its
// values once, an all-to-all brings each rank all parts of its own share, and the rank adds them in rank order in fp32.
// That is the end of a reduce-scatter: the sums of a share are not rounded. An all-reduce rounds them once more and
// gathers them in bf16: every rank, the owner of a share too, has the rounded sums. Ranks make the same calls in the
// same order.
class RoundedSum {
 public:
  // Rounds `in` and starts to exchange it; the caller may then overwrite it. If the ranks do not divide its elements,
  // zeros fill the last share.
  RoundedSum(Context& context, Communicator& axis, const Tensor& in, CollectiveUse use);
  // Ends a reduce-scatter: waits for the parts of this rank's share, and adds them. out f32[share], or bf16[share] for
  // sums that are rounded.
  void add(const Tensor& out);
  // The second half of an all-reduce: waits for the parts, and starts to gather the sums.
  void gather();
  // Ends an all-reduce, with the second half first unless that has been called. out has as many elements as `in`.
  void finish(const Tensor& out);

 private:
  Context& context_;
  Communicator& axis_;
  CollectiveUse use_;
  int64_t share_;
  Tensor sent_, parts_;
  std::unique_ptr<CollectiveWork> exchange_, gather_;
};

}  // namespace weft
