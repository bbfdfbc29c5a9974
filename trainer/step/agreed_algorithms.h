// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"
#include "parallel/communicator.h"

// Ranks whose devices measure algorithms of matrix products (kernels/device/tuning.h) agree on one algorithm per shape.
// Each rank measures a shape at its first use, without waiting for the others, so within a step ranks may differ.
// Afterwards they agree, and repeat the step or evaluation: every result that counts was computed with algorithms that
// all ranks have agreed on. A new shape costs a step or an evaluation twice; known shapes cost nothing.
namespace weft {

// Whether this rank has measured algorithms that the ranks have not agreed on yet; false if there is only one rank.
bool has_unagreed_algorithms(Context& context, const Communicator& world);

// For each measured shape, all ranks take the algorithm of the lowest rank that has measured it. A line is logged if
// ranks have different devices, which cannot share algorithms. Collective.
void agree_on_algorithms(Context& context, Communicator& world);

// Calls agree_on_algorithms() if any rank has unagreed algorithms, and returns whether one had. Collective.
bool settle_algorithms(Context& context, Communicator& world);

}  // namespace weft
