// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"
#include "parallel/communicator.h"

// Ranks whose devices measure algorithms of matrix products (kernels/device/tuning.h) take the same ones. Each measures
// what it meets, when it meets it, and waits for nobody; so within a step ranks may differ. Afterwards they agree, and
// do again what was computed meanwhile: nothing that counts was computed with an algorithm that is not in the table of
// all. This costs a step or an evaluation twice where a shape is met for the first time, and nothing otherwise.
namespace weft {

// Whether this rank has measured what it has not agreed upon yet; never where it is alone.
bool has_unagreed_algorithms(Context& context, const Communicator& world);

// Of each shape that was measured, all ranks take what the lowest one has found that met it: rank 0, if it did. One
// line says so where ranks have different devices, whose algorithms are not each other's. Collective.
void agree_on_algorithms(Context& context, Communicator& world);

// The same if any rank has unagreed ones; whether one had. Collective.
bool settle_algorithms(Context& context, Communicator& world);

}  // namespace weft
