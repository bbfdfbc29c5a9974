#pragma once
#include "base/mpi.h"
#include "parallel/mesh.h"

namespace weft {

// The ranks of an MPI communicator. Counts beyond `max_count` elements go in pieces (MPI counts are 32 bits).
std::unique_ptr<Communicator> mpi_communicator(std::string axis, MpiComm comm, int64_t max_count = int64_t{1} << 30);

// World, dp and tp over MPI_COMM_WORLD.
Mesh mpi_mesh(const MeshLayout& layout, std::shared_ptr<Heartbeat> heartbeat = nullptr);

}  // namespace weft
