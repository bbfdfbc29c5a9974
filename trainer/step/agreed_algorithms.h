// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"
#include "parallel/communicator.h"

// Ranks whose devices measure algorithms of matrix products (kernels/device/tuning.h) come to use the same ones. Each
// rank measures a shape when it meets it, without waiting for the others; so within a step ranks may differ. Afterwards
// they agree, and repeat the step or evaluation: every result that counts was computed with the algorithms that all
// ranks have agreed on. A new shape costs a step or an evaluation twice; known shapes cost nothing.
namespace weft {

// Whether this rank has measured algorithms that the ranks have not agreed on yet; never true of a single rank.
bool has_unagreed_algorithms(Context& context, const Communicator& world);

// For each measured shape, all ranks take the algorithm of the lowest rank that has met it. A line is logged if ranks
// have different devices, which cannot share algorithms. Collective.
void agree_on_algorithms(Context& context, Communicator& world);

// Does so if any rank has unagreed algorithms, and returns whether one had. Collective.
bool settle_algorithms(Context& context, Communicator& world);

}  // namespace weft
