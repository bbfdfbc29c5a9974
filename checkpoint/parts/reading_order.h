// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "checkpoint/manifest.h"
#include "parallel/mesh.h"

namespace weft {

// The files of a checkpoint in the order in which a rank of `mesh` searches them for its part of the model: first the
// files of ranks that had the same share, then those of ranks that held tensors that the rank needs, then the rest. On
// the layout that saved the checkpoint a rank finds everything in its own file and in those of the first ranks of its
// replica's axes, which hold what these axes replicate. Without a mesh, or if the writers' layout is unknown, files are
// in the order of the manifest.
std::vector<size_t> reading_order(const CheckpointManifest& manifest, const Mesh* mesh);

}  // namespace weft
