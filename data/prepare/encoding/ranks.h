// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "base/mpi.h"
#include "data/prepare/config.h"

namespace weft {

// The ranks that prepare one dataset: rank 0 reads the text and writes the shards, and all encode. The others need
// nothing but the job: text and tokenizers come from rank 0. Every rank makes one, together.
class EncodingRanks {
 public:
  // `threads` encode on this rank. Collective.
  explicit EncodingRanks(int threads);
  int rank() const { return rank_; }
  const std::vector<int>& threads() const { return threads_; }  // one per rank

  // On the other ranks: encodes the text that rank 0 sends, until it dismisses them. Sleeps while it waits.
  void serve(const DataConfig& data) const;
  // On rank 0: the others leave serve().
  void dismiss() const;

  MPI_Comm comm() const { return comm_.get(); }

 private:
  MpiComm comm_;
  int rank_ = 0;
  std::vector<int> threads_;
};

}  // namespace weft
