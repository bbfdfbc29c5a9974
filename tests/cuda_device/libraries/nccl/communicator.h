// Ranks that are threads of one process, one on each simulated device. A call of a rank becomes two operations of its
// stream: one that sends, and one that receives when all have sent.
//
// Each device runs its collectives one after the other in the order of the calls (a group of calls counts as one), as
// the strictest machine that NCCL allows would: an order that may hang on a real one does hang here, and is reported.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "tests/cuda_device/libraries/nccl/collective.h"
#include "tests/cuda_device/runtime/simulator.h"

namespace weft::cuda_device {

// One collective on its way.
struct Meeting {
  Collective what;
  int first_rank = 0;  // that called
  std::vector<Bytes> sent;
  size_t senders = 0;
};

// What all ranks of a communicator share.
struct Clique {
  int number = 0;
  std::vector<int> devices;  // by rank; -1: has not joined
  bool aborted = false;
  std::map<uint64_t, std::shared_ptr<Meeting>> meetings;  // by the number of the call
  bool complete() const;
};

struct Communicator {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  uint64_t calls = 0;
  int ranks() const { return static_cast<int>(clique->devices.size()); }
};

// Rank `rank` of the communicator that `id` names joins; on the thread's device. ncclSuccess once all have.
ncclResult_t join_clique(Simulator& all, const ncclUniqueId& id, int ranks, int rank, Communicator& into);

// Calls between ncclGroupStart and ncclGroupEnd are put into their streams together, at the end.
void start_group();
ncclResult_t end_group(Simulator& all);

// Puts a collective of this rank into a stream, now or at the end of the group.
ncclResult_t call(Simulator& all, Communicator& communicator, const Collective& what, const void* send, void* receive,
                  Stream& stream);

}  // namespace weft::cuda_device
