// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <optional>
#include <string>

#include "base/mpi.h"
#include "data/prepare/encoding/encode.h"
#include "data/prepare/tokenizers.h"

namespace weft {

// The messages between rank 0 and the ranks that encode for it.
enum class EncodingMessage : int {
  Tokenizers,  // the tokenizers of the texts that follow
  Text,        // a batch
  End,         // nothing follows
  Encoded,     // the batch's ids; no bytes if it could not be encoded
};

struct ReceivedMessage {
  EncodingMessage what;
  std::string bytes;
};

// Messages that were sent and may not have arrived yet: MPI reads their bytes until they have arrived.
class SentMessages {
 public:
  void send(MPI_Comm comm, int to, EncodingMessage what, std::string bytes);
  bool empty() const { return sent_.empty(); }
  size_t size() const { return sent_.size(); }
  bool first_arrived();
  // Waits until the oldest message has arrived, and returns its bytes.
  std::string take_first();

 private:
  struct Message {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::deque<Message> sent_;
};

std::optional<ReceivedMessage> receive_if_any(MPI_Comm comm, int from);
// Sleeps half a millisecond, for a thread that waits for a message.
void rest_between_looks();

// The largest batch of text that may be sent, in bytes: MPI counts bytes in an int, and a byte of text may become an id
// of four bytes.
inline constexpr uint64_t kMostSentText = uint64_t{128} << 20;

std::string packed(const Tokenizers& tokenizers);
Tokenizers unpacked_tokenizers(const std::string& bytes);
std::string packed(TextBatch& batch);
TextBatch unpacked_text(const std::string& bytes);
std::string packed(EncodedBatch& batch);
EncodedBatch unpacked_ids(const std::string& bytes);

}  // namespace weft
