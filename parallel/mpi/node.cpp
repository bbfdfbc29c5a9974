// SPDX-License-Identifier: Apache-2.0
#include "parallel/mpi/node.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "base/log.h"
#include "parallel/watch/world_status.h"

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
  node.nodes = node.rank == 0 ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &node.nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
  return node;
}

namespace {

// The message that rank 0 sends to the first ranks of the other nodes.
struct MeetingPlace {
  RunKey key{};
  DatagramAddress rank0;
};

void broadcast_bytes(void* bytes, size_t size, MPI_Comm comm) {
  check_mpi(MPI_Bcast(bytes, static_cast<int>(size), MPI_BYTE, 0, comm), "MPI_Bcast");
}

// The address of rank 0's node in the network that most nodes are in (the first of several); 0 if it is in no network.
uint32_t shared_address(const std::vector<Ipv4Network>& mine, MPI_Comm firsts) {
  std::array<Ipv4Network, 16> offered{};
  std::copy_n(mine.begin(), std::min(mine.size(), offered.size()), offered.begin());
  broadcast_bytes(offered.data(), sizeof offered, firsts);
  std::array<int, offered.size()> nodes{};
  for (size_t i = 0; i < offered.size(); ++i) {
    if (offered[i].address == 0) continue;
    // The bridge of a container engine has the same address on every machine, and connects none of them.
    nodes[i] = std::ranges::any_of(mine, [&](const Ipv4Network& one) {
      return one.address != offered[i].address && offered[i].holds(one.address);
    });
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, nodes.data(), static_cast<int>(nodes.size()), MPI_INT, MPI_SUM, firsts),
            "MPI_Allreduce");
  return offered[static_cast<size_t>(std::ranges::max_element(nodes) - nodes.begin())].address;
}

}  // namespace

std::unique_ptr<WorldStatus> join_nodes(const NodeRanks& node) {
  if (node.nodes == 1) return nullptr;
  int pages = node.page != nullptr, rank = 0, world = 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &pages, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  const MpiComm firsts = MpiComm::split(MPI_COMM_WORLD, node.rank == 0 ? 0 : 1, rank);
  if (pages == 0 || node.rank != 0) return nullptr;
  const char* chosen = std::getenv("OMPI_MCA_btl_tcp_if_include");
  const std::vector<Ipv4Network> mine = ipv4_networks(chosen ? chosen : "");
  const uint32_t address = shared_address(mine, firsts.get());
  MeetingPlace meeting;
  std::unique_ptr<Datagrams> datagrams;
  if (rank == 0) {
    if (address != 0) datagrams = Datagrams::at(address);
    if (datagrams) meeting.rank0 = datagrams->address();
    std::random_device random;
    for (uint64_t& word : meeting.key) word = (uint64_t{random()} << 32) | random();
  }
  broadcast_bytes(&meeting, sizeof meeting, firsts.get());
  if (meeting.rank0.address == 0) return nullptr;
  if (rank == 0) {
    log_info("the {} ranks are on {} nodes, whose watchdogs meet at {}", world, node.nodes, describe(meeting.rank0));
    return std::make_unique<WorldStatus>(std::move(datagrams), std::nullopt, meeting.key, rank, world);
  }
  const auto near = std::ranges::find_if(mine, [&](const Ipv4Network& n) { return n.holds(meeting.rank0.address); });
  datagrams = Datagrams::at(near == mine.end() ? 0 : near->address);
  if (!datagrams) return nullptr;
  return std::make_unique<WorldStatus>(std::move(datagrams), meeting.rank0, meeting.key, rank, world);
}

}  // namespace weft
