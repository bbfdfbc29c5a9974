// SPDX-License-Identifier: Apache-2.0
// The ranks of one communicator: threads of one process or processes of one machine. They exchange everything in shared
// memory, in which each rank writes only its own place. It is an anonymous file of the process that made the unique id;
// the others open it through /proc, and also the files of the data that each rank sends: these files have no names, and
// are gone with the last process, however it ends.
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
  // Makes a name for a new clique; std::nullopt: the system has no such files.
  static std::optional<ncclUniqueId> make_id();
  // The clique of that name; nullptr: the process that made it is gone, or others have another number of ranks.
  static std::shared_ptr<Clique> open(const ncclUniqueId& id, int ranks);
  ~Clique();
  Clique(const Clique&) = delete;
  Clique& operator=(const Clique&) = delete;

  int ranks() const { return static_cast<int>(ends_.size()); }
  // False if the place is taken, or another rank has the device. `host` stands for a machine, as NCCL_HOSTID does.
  bool join(int rank, int device, uint64_t host);
  bool complete() const;  // all have joined
  // Opens the data of the other ranks; false if one of them is already gone.
  bool meet();
  bool all_met() const;
  bool within_process() const;  // all ranks are in this process
  std::string absent() const;   // " 1 3": the ranks that have not joined

  // Calls of rank `rank` of this process, numbered from 0. The table of calls in progress is bounded, so a rank sends
  // only when it may.
  uint64_t call(int rank);  // returns the number of the call
  bool may_send(uint64_t number) const;
  void send(int rank, uint64_t number, const Collective& what, std::span<const std::byte> bytes);
  bool all_sent(uint64_t number) const;
  // A sentence if the ranks disagree about the call.
  std::optional<std::string> disagreement(int rank, uint64_t number) const;
  std::vector<Bytes> take(uint64_t number) const;  // the data that each rank has sent
  void finish(int rank, uint64_t number);          // the rank has received it
  bool idle(int rank) const;                       // all of its calls are done

  // Pending calls of rank `rank` of this process end without a result; the other ranks see that it is lost.
  void abort(int rank);
  bool aborted(int rank) const;
  // The rank's connections fail: its pending calls never end.
  void fail(int rank);
  bool failed(int rank) const;
  bool broken(int rank) const;  // another rank has ended or aborted, and this one still has calls that are not done

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
