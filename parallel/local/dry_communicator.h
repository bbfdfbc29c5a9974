// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "parallel/mesh.h"

namespace weft {

// One rank of a layout without the others, for planning and for shape checks on the meta device: every collective of
// the mesh's axes checks its arguments and is counted, in each communicator's traffic() and in the context's ledger as
// "world.all_reduce", "dp.reduce_scatter", "tp.all_gather" ... with the bytes that a ring would send. No other ranks
// take part: host values stay as they are, and a gather fills in the rank's own piece alone. The context must outlive
// the mesh.
Mesh dry_mesh(const MeshLayout& layout, Context& context, int world_rank = 0);

}  // namespace weft
