#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/context.h"

namespace weft {

enum class ReduceOp : uint8_t { Sum, Max };

// What a communicator moved, by collective: bytes of the tensors given, as each rank sees them.
struct Traffic {
  struct Entry {
    int64_t calls = 0;
    int64_t bytes = 0;
    double wait_seconds = 0;  // time that wait() and blocking calls kept the caller: exposed communication
  };
  std::map<std::string, Entry, std::less<>> entries;
  double exposed_seconds() const;
  int64_t bytes() const;
};

// A collective under way. wait() finishes it; the destructor of an unfinished one waits too.
class Pending {
 public:
  virtual ~Pending() = default;
  virtual bool done() = 0;  // also moves it forward
  virtual void wait() = 0;
};

// The ranks along one axis of the mesh. Every rank calls the same collectives in the same order with tensors of the
// same dtype and size (a mismatch is an error that names axis and rank). Counts and dtypes come from the tensors.
// Reductions of f32, f64, i32, i64; bf16 is moved as it is and never summed.
// Sums are made in rank order of a fixed algorithm: two runs of one layout are bit-identical, and every rank holds
// the same bits afterwards.
// MPI moves a started collective only inside MPI calls: call progress() between operations.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual const std::string& axis() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual std::unique_ptr<Pending> start_all_reduce(const Tensor& in_place, ReduceOp op) = 0;
  // out = the rank's own piece of the sum; elements of in = size() * elements of out.
  virtual std::unique_ptr<Pending> start_reduce_scatter(const Tensor& in, const Tensor& out) = 0;
  // elements of out = size() * elements of in; pieces in rank order. in may be the rank's own piece of out.
  virtual std::unique_ptr<Pending> start_all_gather(const Tensor& in, const Tensor& out) = 0;
  virtual void broadcast(const Tensor& in_place, int root) = 0;
  virtual void barrier() = 0;
  virtual void progress() = 0;

  void all_reduce(const Tensor& in_place, ReduceOp op = ReduceOp::Sum) { start_all_reduce(in_place, op)->wait(); }
  void reduce_scatter(const Tensor& in, const Tensor& out) { start_reduce_scatter(in, out)->wait(); }
  void all_gather(const Tensor& in, const Tensor& out) { start_all_gather(in, out)->wait(); }
  // Small host values, in the order given: the one control all-reduce of a step, decisions of rank 0.
  void all_reduce_host(double* values, int64_t count, ReduceOp op);
  std::string broadcast_text(const std::string& text, int root);

  Traffic& traffic() { return traffic_; }

 private:
  Traffic traffic_;
};

// One rank alone: every collective is the identity and moves nothing.
std::unique_ptr<Communicator> single_communicator(std::string axis);

}  // namespace weft
