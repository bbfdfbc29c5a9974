#pragma once
#include <memory>

#include "base/mpi.h"
#include "parallel/node_status.h"

namespace weft {

// The ranks of MPI_COMM_WORLD that run on this machine, this one's place among them, and the page that they share:
// absent if it could not be shared by all of them (ranks in containers of their own).
struct NodeRanks {
  MpiComm comm;
  int rank = 0;
  int ranks = 1;
  std::unique_ptr<NodeStatus> page;
};
NodeRanks ranks_of_this_node();  // collective

}  // namespace weft
