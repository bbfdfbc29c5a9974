// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "base/mpi.h"
#include "data/prepare/config.h"

namespace weft {

// The ranks that prepare one dataset: rank 0 reads the text and writes the shards, and all encode. The other ranks
// need only the job: rank 0 sends them text and tokenizers. All ranks construct an object of this class together.
class EncodingRanks {
 public:
  // `threads` encode on this rank. Collective.
  explicit EncodingRanks(int threads);
  int rank() const { return rank_; }
  const std::vector<int>& threads() const { return threads_; }  // one per rank

  // Called on the other ranks: encodes the text that rank 0 sends, until rank 0 calls dismiss(). Sleeps while it waits.
  // Calls `beat` at every message and result, and while it owes rank 0 none.
  void serve(const DataConfig& data, const std::function<void()>& beat) const;
  // Called on rank 0: makes the other ranks return from serve().
  void dismiss() const;

  MPI_Comm comm() const { return comm_.get(); }

 private:
  MpiComm comm_;
  int rank_ = 0;
  std::vector<int> threads_;
};

}  // namespace weft
