// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/mpi.h"
#include "parallel/mesh.h"

namespace weft {

struct MpiMessages {
  int64_t chain_bytes = int64_t{1} << 20;    // sums of at least this size go along a chain (parallel/mpi/chain.h)
  int64_t chunk_bytes = int64_t{256} << 10;  // size of the chain's messages
  int64_t max_count = int64_t{1} << 30;      // elements per MPI call: its counts have 32 bits
};

// The ranks of an MPI communicator. Large sums are made by chunks in rank order, small ones by MPI's own collectives;
// copies of more than `max_count` elements go in pieces.
std::unique_ptr<Communicator> mpi_communicator(MeshAxis axis, MpiComm comm, const MpiMessages& messages = {});

// The host plane of a place among the ranks of MPI_COMM_WORLD. Collective over all of them.
std::unique_ptr<HostPlane> mpi_host_plane(const AxisPlace& place);

// All axes over MPI_COMM_WORLD, which must have layout.ranks() ranks.
Mesh mpi_mesh(const MeshLayout& layout, std::shared_ptr<Heartbeat> heartbeat = nullptr);

}  // namespace weft
