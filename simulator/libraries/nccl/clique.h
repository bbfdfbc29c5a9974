// SPDX-License-Identifier: Apache-2.0
// The ranks of one communicator: threads of one process or processes of one machine. All that they tell each other lies
// in memory that they share, in which each writes its own place alone. It is an anonymous file of the process that made
// the unique id, which the others open through /proc, and so are the files of what each rank sends: they have no names,
// and are gone with the last process, however it ends.
#pragma once

#include <nccl.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulator/libraries/nccl/collective.h"

namespace weft::cuda_device {

class Clique {
 public:
  // A name for a new one; none: the system has no such files.
  static std::optional<ncclUniqueId> make_id();
  // The one of that name; null: the process that made it is gone, or others say that it has another number of ranks.
  static std::shared_ptr<Clique> open(const ncclUniqueId& id, int ranks);
  ~Clique();
  Clique(const Clique&) = delete;
  Clique& operator=(const Clique&) = delete;

  int ranks() const { return static_cast<int>(ends_.size()); }
  // False if the place is taken, or its device is another rank's. `host` tells machines apart, as NCCL_HOSTID does.
  bool join(int rank, int device, uint64_t host);
  bool complete() const;  // all have joined
  // Opens what the others send; false if one of them is gone already.
  bool meet();
  bool all_met() const;
  bool within_process() const;  // all ranks are of this process
  std::string absent() const;   // " 1 3": who has not joined

  // Calls of rank `rank` of this process, numbered from 0. The table of calls in progress is bounded, so a rank sends
  // once it may.
  uint64_t call(int rank);  // its number
  bool may_send(uint64_t number) const;
  void send(int rank, uint64_t number, const Collective& what, std::span<const std::byte> bytes);
  bool all_sent(uint64_t number) const;
  // A sentence if ranks disagree on the call.
  std::optional<std::string> disagreement(int rank, uint64_t number) const;
  std::vector<Bytes> take(uint64_t number) const;  // the data that each rank has sent
  void finish(int rank, uint64_t number);          // the rank has received it
  bool idle(int rank) const;                       // all of its calls are done

  // Pending calls of rank `rank` of this process end without a result; the others learn that it is lost.
  void abort(int rank);
  bool aborted(int rank) const;
  // The rank's connections fail: its pending calls never end.
  void fail(int rank);
  bool failed(int rank) const;
  bool broken(int rank) const;  // another one has ended or aborted, and the rank still has calls that are not done

  // Publishes to the other processes how often something has moved in this one, and whether it waits for them.
  void tell(uint64_t moves, bool waits);
  uint64_t moves_elsewhere() const;
  bool awaited() const;           // another process waits
  std::string positions() const;  // "rank 0 (process 12, device 0) has called 3 and done 2, ..."

 private:
  struct Shared;
  struct Place;
  struct Sent;
  // A rank as this process sees it: the file of its data, and whether its process still runs.
  struct End {
    int data = -1, process = -1;
    // For a rank of this process: how far its file is used, and calls that not all ranks have received yet.
    uint64_t used = 0;
    std::vector<uint64_t> in_flight;
  };
  Clique(int file, Shared* shared, int ranks);
  bool own(int rank) const;
  bool ended(int rank) const;
  bool received_by_all(uint64_t number) const;
  const Sent& sent(int rank, uint64_t number) const;

  int file_;
  Shared* shared_;
  std::vector<End> ends_;
};

}  // namespace weft::cuda_device
