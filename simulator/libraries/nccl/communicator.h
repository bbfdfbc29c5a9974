// SPDX-License-Identifier: Apache-2.0
// A call of a rank becomes two operations of its stream: one that sends, and one that receives when all have sent.
//
// In a graph each launch is a call. The sends and receives of a communicator in a group are one call, which all ranks
// must make: a rank with nothing to exchange while others exchange is not simulated; the others wait for it.
//
// Each device runs its collectives one after the other in the order of the calls (a group of calls counts as one), as
// the strictest machine that NCCL allows would: an order that may hang on a real one does hang here, and is reported.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "simulator/libraries/nccl/clique.h"
#include "simulator/libraries/nccl/exchange.h"
#include "simulator/libraries/nccl/under_way.h"
#include "simulator/runtime/simulator.h"

namespace weft::cuda_device {

struct Communicator {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  int device = 0;
  std::shared_ptr<int> graphs = std::make_shared<int>();  // shared with the graphs that contain its calls
  bool blocking = true;
  std::shared_ptr<UnderWay> under_way;  // of one that does not block: a call that is not in its stream yet
  int ranks() const { return clique->ranks(); }
};

// Joins rank `rank` of the communicator `id`, on the thread's device. Returns ncclSuccess once all ranks have joined;
// one that does not block may say that this is in progress.
ncclResult_t join_clique(Simulator& all, const ncclUniqueId& id, int ranks, int rank, Communicator& into);

// Calls between ncclGroupStart and ncclGroupEnd are put into their streams together, at the end.
void start_group();
ncclResult_t end_group(Simulator& all);
bool in_group();

// Begins a call of communicators that do not block, which share it if they are in one group.
ncclResult_t begin(Simulator& all, std::span<Communicator* const> communicators, const UnderWay::Step& step);

// Puts a collective of this rank into a stream, immediately or at the end of the group.
ncclResult_t call(Simulator& all, Communicator& communicator, const Collective& what, const void* send, void* receive,
                  Stream& stream);
// Adds a send or a receive to the group's exchange.
ncclResult_t transfer(Simulator& all, Communicator& communicator, const Transfer& what, Stream& stream);

}  // namespace weft::cuda_device
