// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "base/mpi.h"
#include "parallel/watch/node_status.h"

namespace weft {

class WorldStatus;

// The ranks of MPI_COMM_WORLD that run on this machine, this rank's place among them, and the page that they share; it
// is absent unless all of them can share it (ranks in separate containers cannot).
struct NodeRanks {
  MpiComm comm;
  int rank = 0;
  int ranks = 1;
  int nodes = 1;  // nodes in the world
  std::unique_ptr<NodeStatus> page;
};
NodeRanks ranks_of_this_node();  // collective

// For the watchdog of each node's first rank, so that the nodes exchange the status of their ranks: a socket on a
// network that rank 0's node shares with most others (of the networks that OMPI_MCA_btl_tcp_if_include names, if any),
// and rank 0's address and token. nullptr for other ranks, for a single node, and on all nodes if one node has no page
// or rank 0's node has no address (IPv4 alone). Collective.
std::unique_ptr<WorldStatus> join_nodes(const NodeRanks& node);

}  // namespace weft
