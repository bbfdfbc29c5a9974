// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_table.h"
#include "kernels/context.h"
#include "parallel/axis.h"
#include "parallel/host_plane.h"

namespace weft {

enum class Collective : uint8_t { AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast, Barrier };
inline constexpr int kCollectives = enum_size<Collective>();
std::string_view name(Collective collective);

// The purpose of a collective over tensors, as reports name it: {"gradient bucket", 3}. `what` is a string literal.
struct CollectiveUse {
  const char* what = nullptr;  // nullptr: unnamed
  int64_t index = -1;          // -1: not one of several
};

// Bytes that one of `ranks` ranks sends in a ring (in an all-to-all: directly) for a collective over a tensor of
// `bytes` (the whole tensor: the sum's input, the gather's output), as a multiple of `bytes`: all-reduce 2 (n-1)/n,
// reduce-scatter, all-gather and all-to-all (n-1)/n, broadcast 1, barrier 0; a single rank 0. The bytes that an MPI
// library sends may differ; plans and runs share this measure.
double ideal_bytes(Collective collective, int ranks, int64_t bytes);

// The traffic of a communicator, by collective. Every implementation counts alike.
class Traffic {
 public:
  struct Entry {
    int64_t calls = 0;
    int64_t bytes = 0;        // bytes of the whole tensors
    double moved = 0;         // ideal_bytes()
    double wait_seconds = 0;  // seconds that wait() and blocking calls kept the caller: exposed communication
  };
  Entry& operator[](Collective c) { return entries_[static_cast<size_t>(c)]; }
  const Entry& operator[](Collective c) const { return entries_[static_cast<size_t>(c)]; }
  Entry total() const;
  void clear() { entries_ = {}; }

 private:
  std::array<Entry, kCollectives> entries_{};
};

class Communicator;
class Heartbeat;
class Trace;  // kernels/trace.h

// An entry of a log of collectives over tensors; the log has the entries in the order of the calls.
struct CalledCollective {
  Communicator* communicator = nullptr;
  Collective collective = Collective::Barrier;
  int64_t bytes = 0;  // bytes of the whole tensor
  CollectiveUse use;
};
using CollectiveLog = std::vector<CalledCollective>;

// A collective under way, which holds its tensors. wait() orders the device's queue after the collective (on a CPU,
// whose queue is the calling thread, it finishes the collective); the destructor of an unfinished one waits too.
class CollectiveWork {
 public:
  virtual ~CollectiveWork() = default;
  virtual bool done() = 0;  // polls, and so makes progress
  void wait();

 protected:
  virtual void finish() = 0;  // blocks until the result is there; called once or more

 private:
  friend class Communicator;
  Communicator* communicator_ = nullptr;
  Collective collective_ = Collective::Barrier;
  int64_t number_ = 0;
  CollectiveUse use_;
  int64_t began_ = -1;             // a mark of the trace; -1: not traced, or waited for already
  std::array<Tensor, 2> tensors_;  // input and output, kept alive
};

// The ranks along one axis of the mesh, on two planes: collectives on tensors, which the axis' device library moves,
// and values and texts of the hosts (HostPlane). Every rank calls the same collectives in the same order with tensors
// of the same dtype and size (a mismatch is an error that names axis and rank). Counts and dtypes come from the
// tensors. Reductions take f32, f64, i32 and i64; bf16 is moved but never summed (parallel/rank_order_sums.h sums it).
// Sums are made in rank order by a fixed algorithm: two runs of one layout are bit-identical, and every rank holds the
// same bits afterwards. MPI moves a started collective only inside MPI calls: call progress() between operations.
class Communicator {
 public:
  Communicator(MeshAxis axis, int rank, int size, std::unique_ptr<HostPlane> host);
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  MeshAxis axis() const { return axis_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  std::unique_ptr<CollectiveWork> start_all_reduce(const Tensor& in_place, ReduceOp op, CollectiveUse use = {});
  // out = the rank's own piece of the sum; elements of in = size() * elements of out.
  std::unique_ptr<CollectiveWork> start_reduce_scatter(const Tensor& in, const Tensor& out, CollectiveUse use = {});
  // elements of out = size() * elements of in; pieces in rank order. in may be the rank's own piece of out.
  std::unique_ptr<CollectiveWork> start_all_gather(const Tensor& in, const Tensor& out, CollectiveUse use = {});
  // Each rank's piece r goes to rank r: out = the pieces for this rank, in rank order. out has as many elements as in,
  // a multiple of size(), and must not overlap in.
  std::unique_ptr<CollectiveWork> start_all_to_all(const Tensor& in, const Tensor& out, CollectiveUse use = {});
  void broadcast(const Tensor& in_place, int root);
  void barrier();
  virtual void progress() = 0;
  // The library that makes the sums, and so decides their bits: "NCCL 2.28.9, ..."; "" if the program itself adds, in
  // rank order.
  virtual std::string sums() const { return {}; }

  void all_reduce(const Tensor& in_place, ReduceOp op = ReduceOp::Sum) { start_all_reduce(in_place, op)->wait(); }
  void reduce_scatter(const Tensor& in, const Tensor& out) { start_reduce_scatter(in, out)->wait(); }
  void all_gather(const Tensor& in, const Tensor& out) { start_all_gather(in, out)->wait(); }
  void all_to_all(const Tensor& in, const Tensor& out) { start_all_to_all(in, out)->wait(); }
  // These run on the host plane: the one control all-reduce of a step, and decisions of rank 0.
  void all_reduce_host(std::span<double> values, ReduceOp op);
  double all_reduce_host(double value, ReduceOp op);
  std::string broadcast_text(const std::string& text, int root);
  // Rank 0 gets the values of all ranks in rank order; other ranks get nothing. Every rank passes the same number.
  std::vector<double> gather_host(std::span<const double> mine);

  Traffic& traffic() { return traffic_; }
  const Traffic& traffic() const { return traffic_; }
  // Records every further collective in a cost ledger too, as "dp.all_reduce"; the ledger must outlive this object.
  void record_into(Ledger& ledger) { ledger_ = &ledger; }
  // Logs further collectives over tensors while they are captured into a graph; null ends the logging.
  void log_into(CollectiveLog* log) { log_ = log; }
  // For a device that queues a captured graph again: each collective in the log counts and beats as if it were called.
  static void queued_again(const CollectiveLog& log);
  // Every further collective is recorded in a trace while that is on; the trace must outlive this object.
  void trace_into(Trace& trace) { trace_ = &trace; }
  // Every further collective beats on `heartbeat`, which must outlive this object.
  void beat_on(Heartbeat& heartbeat);

 protected:
  // The device's count of completed collectives over tensors, if the host only queues them and waits for none. Null:
  // the host moves the tensors and waits for each collective.
  virtual std::shared_ptr<const std::atomic<uint64_t>> count_of_done() const { return nullptr; }
  virtual std::unique_ptr<CollectiveWork> do_all_reduce(const Tensor& in_place, ReduceOp op) = 0;
  virtual std::unique_ptr<CollectiveWork> do_reduce_scatter(const Tensor& in, const Tensor& out) = 0;
  virtual std::unique_ptr<CollectiveWork> do_all_gather(const Tensor& in, const Tensor& out) = 0;
  virtual std::unique_ptr<CollectiveWork> do_all_to_all(const Tensor& in, const Tensor& out) = 0;
  virtual std::unique_ptr<CollectiveWork> do_broadcast(const Tensor& in_place, int root) = 0;

 private:
  friend class CollectiveWork;
  // Counts a collective and returns its number on the axis.
  int64_t begin(Collective collective, int64_t bytes);
  int64_t begin_over_tensors(Collective collective, int64_t bytes, CollectiveUse use);
  template <class Start>
  std::unique_ptr<CollectiveWork> numbered(Start&& start, Collective collective, int64_t number, const Tensor& in,
                                           const Tensor& out, CollectiveUse use);
  int64_t mark() const;  // a mark of the trace; kNone for one rank alone, which waits for nobody
  void finish(CollectiveWork& work);
  template <class Block>
  void timed_wait(Collective collective, int64_t number, Block&& block);
  // A collective of the hosts, which they wait for at once.
  template <class Block>
  void wait_for_hosts(Collective collective, size_t bytes, Block&& block);
  void fit(Collective collective, int64_t a, int64_t b, const Tensor& in, const Tensor& out) const;

  MeshAxis axis_;
  int rank_, size_;
  std::unique_ptr<HostPlane> host_;
  std::array<std::string, kCollectives> ledger_names_;  // "dp.all_reduce"
  Ledger* ledger_ = nullptr;
  Trace* trace_ = nullptr;
  Heartbeat* heartbeat_ = nullptr;
  Traffic traffic_;
  CollectiveLog* log_ = nullptr;
};

// The work of a collective that was complete when it was started.
std::unique_ptr<CollectiveWork> completed_work();

// One rank alone: every collective is the identity and moves nothing.
std::unique_ptr<Communicator> single_communicator(MeshAxis axis);

}  // namespace weft
