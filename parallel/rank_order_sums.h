// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"
#include "parallel/communicator.h"

namespace weft {

// Sums over an axis that weft adds itself, from parts that are exchanged unchanged: in rank order, in the accumulator
// dtype, rounded once at the end. Their bits do not depend on the library that exchanges the parts.

// out = the sum of parts' rows, in their order; parts [ranks, ...] has out's dtype and, per row, out's elements.
void add_parts(Context& context, const Tensor& parts, const Tensor& out);

// Sums bf16 tensors, exchanged at 2 bytes per element, half of what fp32 sums send: an all-to-all brings each rank all
// parts of its own share, which the rank adds; an all-gather brings the sums to all ranks. If the number of elements is
// not a multiple of the ranks, a padded copy is exchanged.
void all_reduce_bf16(Context& context, Communicator& axis, const Tensor& in_place);
// The reduce-scatter alone, without the gather: elements of in = axis.size() * elements of out.
void reduce_scatter_bf16(Context& context, Communicator& axis, const Tensor& in, const Tensor& out);

}  // namespace weft
