// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "parallel/watch/datagrams.h"
#include "parallel/watch/replay_window.h"
#include "parallel/watch/world_messages.h"

namespace weft {

// Exchanges the status of ranks between the watchdogs of different nodes: twice a second the watchdog of each node's
// first rank sends the status of the node's ranks to rank 0's watchdog, which answers with the ranks of other nodes:
// all of them, or, of more than NodeStatus::kOthers, rank 0 and those that keep others waiting, since a report names
// these. The answers are written to the page of the node, where all its watchdogs read them. All messages are
// datagrams: nothing blocks, or needs MPI. A datagram is taken and answered once: who repeats a run's datagrams makes
// no dead rank look alive, and has nothing sent to an address that they forge.
class WorldStatus {
 public:
  // `rank0` is the address of rank 0's watchdog; nullopt if this is rank 0's. `rank` is the first of this node.
  WorldStatus(std::unique_ptr<Datagrams> datagrams, std::optional<DatagramAddress> rank0, const RunKey& key, int rank,
              int world_size);
  // Called by the watchdog's thread at each poll. Until rank 0 answers, every call sends a message.
  void look(NodeStatus& page);
  // Whether rank 0's watchdog has answered once; true for rank 0's own.
  bool met() const { return !rank0_ || answered_ns_ != 0; }

 private:
  struct Known {
    NodeStatus::Entry entry;
    int64_t received_ns = 0;
    DatagramAddress from;
  };
  void answer(NodeStatus& page);
  void tell_rank0(NodeStatus& page);
  void hear_rank0();
  // The next datagram that has arrived: without a message unless it is of this run, new, and from rank 0's watchdog if
  // this is another's; nullopt if none is left.
  struct Heard {
    std::optional<WorldMessage> message;
    DatagramAddress from;
  };
  std::optional<Heard> hear();
  void know(const std::vector<NodeStatus::Entry>& entries, const DatagramAddress& from);
  void send(const std::vector<NodeStatus::Entry>& entries, const DatagramAddress& to);
  // The ranks to report: the known ranks, except those from the address `without`, and those of `with`.
  std::vector<NodeStatus::Entry> notable(const std::optional<DatagramAddress>& without,
                                         std::vector<NodeStatus::Entry> with) const;

  std::unique_ptr<Datagrams> datagrams_;
  std::optional<DatagramAddress> rank0_;
  RunKey key_;
  int rank_, world_size_;
  std::map<int32_t, Known> known_;         // ranks of other nodes
  std::map<int32_t, ReplayWindow> heard_;  // by sender
  uint64_t sent_ = 0;                      // the number of the last datagram of this node
  int64_t sent_ns_ = 0, answered_ns_ = 0;
};

}  // namespace weft
