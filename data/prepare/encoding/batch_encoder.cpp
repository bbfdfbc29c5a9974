// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/encoding/batch_encoder.h"

#include <algorithm>
#include <numeric>

namespace weft {

namespace {

// Rank 0 sends text to the other ranks, so it leaves its own batches to other threads, even with one processor.
int threads_here(const std::vector<int>& threads) {
  return threads.size() == 1 ? threads.front() : std::max(threads.front(), 2);
}

}  // namespace

RemoteEncoder::RemoteEncoder(const EncodingRanks& ranks, int rank, const Tokenizers& tokenizers)
    : comm_(ranks.comm()), rank_(rank) {
  sent_.send(comm_, rank_, EncodingMessage::Tokenizers, packed(tokenizers));
  sent_.take_first();
}

void RemoteEncoder::submit(TextBatch batch) { sent_.send(comm_, rank_, EncodingMessage::Text, packed(batch)); }

EncodedBatch RemoteEncoder::take(const SequenceEncoder& encoder) {
  std::optional<ReceivedMessage> message;
  while (!(message = receive_if_any(comm_, rank_))) rest_between_looks();
  const std::string text = sent_.take_first();
  return message->bytes.empty() ? encoder.encode(unpacked_text(text)) : unpacked_ids(message->bytes);
}

BatchEncoder::BatchEncoder(const DataConfig& data, const Tokenizers& tokenizers, int threads,
                           const EncodingRanks* ranks)
    : encoder_(data, tokenizers.source, tokenizers.target),
      threads_(ranks ? ranks->threads() : std::vector{threads}),
      here_(threads_here(threads_), [this](const TextBatch& batch) { return encoder_.encode(batch); }),
      shares_(threads_.size()),
      window_(here_.window() +
              kPendingOfThread * static_cast<size_t>(std::accumulate(threads_.begin() + 1, threads_.end(), 0))) {
  for (int rank = 1; rank < std::ssize(threads_); ++rank) others_.emplace_back(*ranks, rank, tokenizers);
}

size_t BatchEncoder::least_busy() const {
  size_t chosen = 0;
  for (size_t rank = 1; rank < threads_.size(); ++rank) {  // of equally busy ranks the first is chosen
    const auto a = pending(rank) * static_cast<size_t>(threads_[chosen]);
    const auto b = pending(chosen) * static_cast<size_t>(threads_[rank]);
    if (a < b) chosen = rank;
  }
  return chosen;
}

void BatchEncoder::submit(TextBatch batch) {
  const uint64_t bytes = text_bytes(batch);
  const size_t rank = bytes > kMostSentText ? 0 : least_busy();
  shares_[rank] += bytes;
  order_.push_back(rank);
  rank == 0 ? here_.submit(std::move(batch)) : others_[rank - 1].submit(std::move(batch));
}

EncodedBatch BatchEncoder::take() {
  const size_t rank = order_.front();
  order_.pop_front();
  return rank == 0 ? here_.take() : others_[rank - 1].take(encoder_);
}

}  // namespace weft
