// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mpi.h"
#include "parallel/communicator.h"

namespace weft {

class ChainWork;

// Sums of large messages over the ranks of an MPI communicator, literally in rank order, in chunks. A chunk goes up
// from rank to rank, each of which adds its own values to the partial sum: ((x0 + x1) + x2) + ...; from the last rank
// the sum goes down to the ranks that need it. While one chunk is added at one rank, its successors are at the ranks
// below: a message of many chunks takes about as long as one rank takes to send and to receive it, however many ranks
// there are, plus the first chunk's hops. Memory: a few chunks for each of two sums, whatever their size.
//
// MPI makes progress only inside MPI calls: in progress(), and while a rank waits. Sums are advanced in the order in
// which they were begun, which is the same on all ranks, two at a time.
class MpiChain : public std::enable_shared_from_this<MpiChain> {
 public:
  // At least two ranks. Nothing else may send messages of its own over `comm`.
  MpiChain(std::shared_ptr<const MpiComm> comm, int rank, int size, int64_t chunk_bytes);
  ~MpiChain();
  MpiChain(const MpiChain&) = delete;
  MpiChain& operator=(const MpiChain&) = delete;

  std::unique_ptr<CollectiveWork> all_reduce(const Tensor& in_place, ReduceOp op);
  std::unique_ptr<CollectiveWork> reduce_scatter(const Tensor& in, const Tensor& out);
  bool idle() const { return under_way_.empty(); }
  void progress();

 private:
  friend class ChainWork;
  using Scratch = std::unique_ptr<std::byte[]>;
  Scratch take_scratch();
  void give_back(Scratch scratch) { spare_.push_back(std::move(scratch)); }

  std::shared_ptr<const MpiComm> comm_;
  int rank_, size_;
  int64_t chunk_bytes_;
  int tag_ = 0;                        // tag of the next sum
  std::vector<ChainWork*> under_way_;  // in the order in which they began
  std::vector<Scratch> spare_;
};

}  // namespace weft
