#pragma once
#include "base/mpi.h"
#include "parallel/mesh.h"

namespace weft {

// The ranks of an MPI communicator. Counts beyond `max_count` elements go in pieces (MPI counts are 32 bits).
std::unique_ptr<Communicator> mpi_communicator(MeshAxis axis, MpiComm comm, int64_t max_count = int64_t{1} << 30);

// The host plane of a place among the ranks of MPI_COMM_WORLD. Collective over all of them.
std::unique_ptr<HostPlane> mpi_host_plane(const AxisPlace& place);

// All axes over MPI_COMM_WORLD, which must have layout.ranks() ranks.
Mesh mpi_mesh(const MeshLayout& layout, std::shared_ptr<Heartbeat> heartbeat = nullptr);

}  // namespace weft
