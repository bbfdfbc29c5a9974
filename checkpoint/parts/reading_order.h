// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "checkpoint/manifest.h"
#include "parallel/mesh.h"

namespace weft {

// The files of a checkpoint in the order in which a rank of `mesh` looks into them for its part of the model: those of
// ranks that had the same share of it, then those that it must share tensors with, the others last. On the layout that
// saved it a rank finds all in its own file, and in that of its first tp rank, which has what tp replicates. Without a
// mesh, or where the writers' layout is not known: in the order of the manifest.
std::vector<size_t> reading_order(const CheckpointManifest& manifest, const Mesh* mesh);

}  // namespace weft
