// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"
#include "parallel/communicator.h"

namespace weft {

// Sums over an axis that the program adds itself, from parts that are exchanged as they are: in the order of the ranks,
// in the accumulator dtype, rounded once at the end. Their bits do not depend on what exchanges them.

// out = the sum of parts' rows, in their order; parts [ranks, ...], of the dtype of out and as many elements a row.
void add_parts(Context& context, const Tensor& parts, const Tensor& out);

// Sums of bf16 tensors, exchanged in 2 bytes an element, half of what sums in fp32 send: an all-to-all brings each rank
// all parts of its own share, which it adds; an all-gather brings the sums to all. Elements that the ranks do not
// divide are filled up, in a copy.
void all_reduce_bf16(Context& context, Communicator& axis, const Tensor& in_place);
// The reduce-scatter alone, without the gather: elements of in = axis.size() * elements of out.
void reduce_scatter_bf16(Context& context, Communicator& axis, const Tensor& in, const Tensor& out);

}  // namespace weft
