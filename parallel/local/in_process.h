// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>

#include "parallel/make_host_plane.h"

namespace weft {

// Ranks as threads of one process, for tests of any layout in one binary: body(mesh, rank) runs once per world rank,
// each with its own mesh. Sums are made in rank order by every rank for itself, so all hold the same bits. If a body
// throws, the ranks that wait for it get a PeerError, all threads are joined, and the first error is rethrown. A
// collective that some rank never joins fails after timeout_seconds.
struct InProcessOptions {
  double timeout_seconds = 60;
};
void run_in_process(const MeshLayout& layout, const std::function<void(Mesh& mesh, int rank)>& body,
                    const InProcessOptions& options = {});

// Runs ranks as run_in_process() does, with host planes alone, for ranks whose tensors another library exchanges: NCCL
// between devices, which load their kernels first (load_kernels_with_the_device()).
void run_hosts_in_process(const MeshLayout& layout,
                          const std::function<void(const MakeHostPlane& host, int rank)>& body,
                          const InProcessOptions& options = {});

}  // namespace weft
