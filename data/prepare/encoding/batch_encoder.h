// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <vector>

#include "data/prepare/encoding/encode.h"
#include "data/prepare/encoding/messages.h"
#include "data/prepare/encoding/ranks.h"
#include "data/prepare/workers.h"

namespace weft {

// The connection of rank 0 to another rank, which encodes batches for it.
class RemoteEncoder {
 public:
  RemoteEncoder(const EncodingRanks& ranks, int rank, const Tokenizers& tokenizers);
  void submit(TextBatch batch);
  // The ids of the oldest batch that was not taken. If the rank failed at the batch, it is encoded here with `encoder`,
  // which throws the same error as without ranks.
  EncodedBatch take(const SequenceEncoder& encoder);
  size_t pending() const { return sent_.size(); }

 private:
  MPI_Comm comm_;
  int rank_;
  SentMessages sent_;
};

// Encodes text on this rank's threads and on other ranks, if there are any: the rank with the least work per thread
// gets the next batch. Results come in the order of the batches, and do not depend on the rank that encodes.
class BatchEncoder {
 public:
  // Without `ranks`, or with one rank, threads of this process encode.
  BatchEncoder(const DataConfig& data, const Tokenizers& tokenizers, int threads, const EncodingRanks* ranks);

  void submit(TextBatch batch);
  // The oldest batch that was not taken; rethrows the error of encoding it.
  EncodedBatch take();
  size_t pending() const { return order_.size(); }
  // The number of pending batches that keeps all ranks busy.
  size_t window() const { return window_; }
  // Bytes of text that each rank was given, by rank.
  const std::vector<uint64_t>& shares() const { return shares_; }

 private:
  size_t least_busy() const;
  size_t pending(size_t rank) const { return rank == 0 ? here_.pending() : others_[rank - 1].pending(); }

  const SequenceEncoder encoder_;
  std::vector<int> threads_;  // one per rank
  OrderedWorkers<TextBatch, EncodedBatch> here_;
  std::deque<RemoteEncoder> others_;  // ranks from 1
  std::deque<size_t> order_;          // the rank of each pending batch
  std::vector<uint64_t> shares_;
  size_t window_;
};

}  // namespace weft
