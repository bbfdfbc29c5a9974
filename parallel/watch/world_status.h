// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "parallel/watch/datagrams.h"
#include "parallel/watch/world_messages.h"

namespace weft {

// How the watchdogs of different nodes know of each other's ranks: the first rank's of each node tells rank 0's where
// the ranks of its node are, twice a second, and rank 0's answers with where others are: all of them, or where they are
// more than NodeStatus::kOthers those that keep others waiting, which are what a report is about. What is heard goes on
// the page of the node, where all its watchdogs read it. Datagrams alone: nothing of it waits, or needs MPI.
class WorldStatus {
 public:
  // `rank0`: of rank 0's watchdog, nullopt where this one is that.
  WorldStatus(std::unique_ptr<Datagrams> datagrams, std::optional<DatagramAddress> rank0, const RunToken& token,
              int world_size);
  // For the watchdog's thread, whenever it looks. The first words go at once, and again until rank 0 answers.
  void look(NodeStatus& page);

 private:
  struct Known {
    NodeStatus::Entry entry;
    int64_t received_ns = 0;
    DatagramAddress from;
  };
  void answer(NodeStatus& page);
  void tell_rank0(NodeStatus& page);
  void hear_rank0();
  void know(const std::vector<NodeStatus::Entry>& entries, const DatagramAddress& from);
  void send(const std::vector<NodeStatus::Entry>& entries, const DatagramAddress& to);
  // Of what is known, without what came from there, and with what else is given.
  std::vector<NodeStatus::Entry> notable(const std::optional<DatagramAddress>& without,
                                         std::vector<NodeStatus::Entry> with) const;

  std::unique_ptr<Datagrams> datagrams_;
  std::optional<DatagramAddress> rank0_;
  RunToken token_;
  int world_size_;
  std::map<int32_t, Known> known_;  // ranks of other nodes
  int64_t told_ns_ = 0, answered_ns_ = 0;
};

}  // namespace weft
