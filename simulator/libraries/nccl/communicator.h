// SPDX-License-Identifier: Apache-2.0
// A call of a rank becomes two operations of its stream: one that sends, and one that receives when all have sent.
//
// In a graph each launch is a call. The sends and receives of a communicator in a group are one call, and one that all
// ranks make: a rank that has nothing to exchange while others do is not simulated, and is waited for.
//
// Each device runs its collectives one after the other in the order of the calls (a group of calls counts as one), as
// the strictest machine that NCCL allows would: an order that may hang on a real one does hang here, and is reported.
#pragma once

#include <cstdint>
#include <memory>

#include "simulator/libraries/nccl/clique.h"
#include "simulator/libraries/nccl/exchange.h"
#include "simulator/runtime/simulator.h"

namespace weft::cuda_device {

struct Communicator {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  int device = 0;
  std::shared_ptr<int> graphs = std::make_shared<int>();  // shared with the graphs that hold calls of it
  int ranks() const { return clique->ranks(); }
};

// Rank `rank` of the communicator that `id` names joins; on the thread's device. ncclSuccess once all have.
ncclResult_t join_clique(Simulator& all, const ncclUniqueId& id, int ranks, int rank, Communicator& into);

// Calls between ncclGroupStart and ncclGroupEnd are put into their streams together, at the end.
void start_group();
ncclResult_t end_group(Simulator& all);

// Puts a collective of this rank into a stream, now or at the end of the group.
ncclResult_t call(Simulator& all, Communicator& communicator, const Collective& what, const void* send, void* receive,
                  Stream& stream);
// Adds a send or a receive to those of the group.
ncclResult_t transfer(Simulator& all, Communicator& communicator, const Transfer& what, Stream& stream);

}  // namespace weft::cuda_device
