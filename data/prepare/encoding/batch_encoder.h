// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <vector>

#include "data/prepare/encoding/encode.h"
#include "data/prepare/encoding/messages.h"
#include "data/prepare/encoding/ranks.h"
#include "data/prepare/workers.h"

namespace weft {

// Another rank as rank 0 sees it, which serves.
class RemoteEncoder {
 public:
  RemoteEncoder(const EncodingRanks& ranks, int rank, const Tokenizers& tokenizers);
  void submit(TextBatch batch);
  // Of the oldest batch that was not yet taken. What the rank fails at is encoded here with `encoder`, so that an error
  // is what it is without ranks.
  EncodedBatch take(const SequenceEncoder& encoder);
  size_t pending() const { return sent_.size(); }

 private:
  MPI_Comm comm_;
  int rank_;
  SentMessages sent_;
};

// Text to ids on this rank's threads and, where there are any, on other ranks: whoever has the least to do for its
// threads takes the next batch. Results come in the order of batches, and do not depend on who encodes.
class BatchEncoder {
 public:
  // Without `ranks`, or with one rank, as OrderedWorkers.
  BatchEncoder(const DataConfig& data, const Tokenizers& tokenizers, int threads, const EncodingRanks* ranks);

  void submit(TextBatch batch);
  // The oldest batch that was not yet taken; throws what encoding it threw.
  EncodedBatch take();
  size_t pending() const { return order_.size(); }
  // How many batches keep all busy.
  size_t window() const { return window_; }
  // Bytes of text that each rank was given.
  const std::vector<uint64_t>& shares() const { return shares_; }

 private:
  size_t least_busy() const;
  size_t pending(size_t rank) const { return rank == 0 ? here_.pending() : others_[rank - 1].pending(); }

  const SequenceEncoder encoder_;
  std::vector<int> threads_;  // of each rank
  OrderedWorkers<TextBatch, EncodedBatch> here_;
  std::deque<RemoteEncoder> others_;  // ranks from 1
  std::deque<size_t> order_;          // the ranks that have the batches that are pending
  std::vector<uint64_t> shares_;
  size_t window_;
};

}  // namespace weft
