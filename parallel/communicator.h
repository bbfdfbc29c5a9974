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

// What a collective over tensors is for, as a report names it: {"gradient bucket", 3}. `what` is a literal.
struct CollectiveUse {
  const char* what = nullptr;  // nullptr: unnamed
  int64_t index = -1;          // -1: not one of several
};

// Bytes that one rank of `ranks` sends in a ring, or in an all-to-all directly, for a collective over a tensor of
// `bytes` (the whole one: the sum's input, the gather's output): all-reduce 2 (n-1)/n, reduce-scatter, all-gather and
// all-to-all (n-1)/n, broadcast 1, barrier 0; alone 0. What an MPI library really sends may differ; this is the common
// measure of a plan and of a run.
double ideal_bytes(Collective collective, int ranks, int64_t bytes);

// The traffic of a communicator, by collective. Every implementation counts alike.
class Traffic {
 public:
  struct Entry {
    int64_t calls = 0;
    int64_t bytes = 0;        // bytes of the whole tensors
    double moved = 0;         // ideal_bytes()
    double wait_seconds = 0;  // time that wait() and blocking calls kept the caller: exposed communication
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

// An entry of a log of collectives over tensors, which are in the order of their calls.
struct CalledCollective {
  Communicator* communicator = nullptr;
  Collective collective = Collective::Barrier;
  int64_t bytes = 0;  // bytes of the whole tensor
  CollectiveUse use;
};
using CollectiveLog = std::vector<CalledCollective>;

// A collective under way. It holds its tensors. wait() orders the device's queue after it (on a CPU, whose queue is the
// calling thread: it finishes it); the destructor of an unfinished one waits too.
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
  // Each rank's piece r goes to rank r: out = the ranks' pieces for this one, in rank order. out has as many elements
  // as in, a multiple of size(), and must not overlap it.
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
  // On the host plane: the one control all-reduce of a step, decisions of rank 0.
  void all_reduce_host(std::span<double> values, ReduceOp op);
  double all_reduce_host(double value, ReduceOp op);
  std::string broadcast_text(const std::string& text, int root);
  // Rank 0 gets the values of all ranks in rank order, the others nothing. Every rank passes equally many.
  std::vector<double> gather_host(std::span<const double> mine);

  Traffic& traffic() { return traffic_; }
  const Traffic& traffic() const { return traffic_; }
  // Records every further collective in a cost ledger too, as "dp.all_reduce"; the ledger must outlive this.
  void record_into(Ledger& ledger) { ledger_ = &ledger; }
  // Logs further collectives over tensors, which are being captured into a graph; null ends that.
  void log_into(CollectiveLog* log) { log_ = log; }
  // A device queues a captured graph again: each of its collectives counts, and beats, as if it were called.
  static void queued_again(const CollectiveLog& log);
  // Every further collective beats on `heartbeat`, which must outlive this.
  void beat_on(Heartbeat& heartbeat);

 protected:
  // The device's count of completed collectives over tensors, if they are only queued and the host waits for none of
  // them. Null: the host moves them and waits for each.
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
  std::unique_ptr<CollectiveWork> numbered(std::unique_ptr<CollectiveWork> pending, Collective collective,
                                           int64_t number, const Tensor& in, const Tensor& out);
  template <class Block>
  void timed_wait(Collective collective, int64_t number, Block&& block);
  void fit(Collective collective, int64_t a, int64_t b, const Tensor& in, const Tensor& out) const;

  MeshAxis axis_;
  int rank_, size_;
  std::unique_ptr<HostPlane> host_;
  std::array<std::string, kCollectives> ledger_names_;  // "dp.all_reduce"
  Ledger* ledger_ = nullptr;
  Heartbeat* heartbeat_ = nullptr;
  Traffic traffic_;
  CollectiveLog* log_ = nullptr;
};

// The work of a collective that was complete when it was started.
std::unique_ptr<CollectiveWork> completed_work();

// One rank alone: every collective is the identity and moves nothing.
std::unique_ptr<Communicator> single_communicator(MeshAxis axis);

}  // namespace weft
