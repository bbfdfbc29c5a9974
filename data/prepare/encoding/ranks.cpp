// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/encoding/ranks.h"

#include <optional>
#include <string>

#include "data/prepare/encoding/messages.h"
#include "data/prepare/workers.h"

namespace weft {

namespace {

std::string encode_message(const SequenceEncoder& encoder, const std::string& text) {
  try {
    EncodedBatch batch = encoder.encode(unpacked_text(text));
    return packed(batch);
  } catch (const std::exception&) {  // rank 0 encodes the batch again and throws the same error
    return {};
  }
}

}  // namespace

EncodingRanks::EncodingRanks(int threads) : comm_(MpiComm::duplicate(MPI_COMM_WORLD)) {
  int size = 1;
  MPI_Comm_rank(comm(), &rank_);
  MPI_Comm_size(comm(), &size);
  threads_.resize(static_cast<size_t>(size));
  check_mpi(MPI_Allgather(&threads, 1, MPI_INT, threads_.data(), 1, MPI_INT, comm()), "MPI_Allgather");
}

void EncodingRanks::serve(const DataConfig& data, const std::function<void()>& beat) const {
  std::optional<SequenceEncoder> encoder;
  SentMessages results;
  OrderedWorkers<std::string, std::string> workers(
      threads_[static_cast<size_t>(rank_)],
      [&encoder](const std::string& text) { return encode_message(*encoder, text); });
  while (true) {
    if (std::optional<ReceivedMessage> message = receive_if_any(comm(), 0)) {
      if (message->what == EncodingMessage::End) break;
      if (message->what == EncodingMessage::Text) {
        workers.submit(std::move(message->bytes));
      } else {
        const Tokenizers tokenizers = unpacked_tokenizers(message->bytes);
        encoder.emplace(data, tokenizers.source, tokenizers.target);
      }
      beat();
    } else if (workers.ready()) {
      results.send(comm(), 0, EncodingMessage::Encoded, workers.take());
      beat();
    } else if (results.first_arrived()) {
      results.take_first();
    } else {
      rest_between_looks();
      if (workers.pending() == 0) beat();
    }
  }
  while (!results.empty()) results.take_first();
}

void EncodingRanks::dismiss() const {
  for (int other = 1; other < std::ssize(threads_); ++other) {
    SentMessages end;
    end.send(comm(), other, EncodingMessage::End, {});
    end.take_first();
  }
}

}  // namespace weft
