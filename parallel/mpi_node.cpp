#include "parallel/mpi_node.h"

#include <unistd.h>

#include <array>

namespace weft {

NodeRanks ranks_of_this_node() {
  MPI_Comm handle = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &handle),
            "MPI_Comm_split_type");
  NodeRanks node{.comm = MpiComm(handle)};
  const MPI_Comm comm = node.comm.get();
  MPI_Comm_rank(comm, &node.rank);
  MPI_Comm_size(comm, &node.ranks);
  std::array<int, 2> owner = {getpid(), -1};
  if (node.rank == 0) {
    node.page = NodeStatus::create(node.ranks);
    owner[1] = node.page ? node.page->descriptor() : -1;
  }
  check_mpi(MPI_Bcast(owner.data(), 2, MPI_INT, 0, comm), "MPI_Bcast");
  if (node.rank != 0 && owner[1] >= 0) node.page = NodeStatus::open(owner[0], owner[1], node.ranks);
  int everywhere = node.page != nullptr;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  if (everywhere == 0) node.page.reset();
  if (node.page) node.page->close_descriptor();
  return node;
}

}  // namespace weft
