// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/encoding/messages.h"

#include <chrono>
#include <thread>

#include "base/archive.h"

namespace weft {

namespace {

using FileName = std::shared_ptr<const fs::path>;

// Names of files are long and many records share one: a name is sent only if it differs from the name before it.
template <class Archive>
void archive_name(Archive& a, FileName& name, FileName& before) {
  bool same = name == before;
  a(same);
  if (same) {
    name = before;
    return;
  }
  std::string text = name ? name->string() : std::string();
  a(text);
  if (!name) name = std::make_shared<const fs::path>(text);
  before = name;
}

template <class Archive>
void archive_batch(Archive& a, TextBatch& batch) {
  FileName file, target_file;
  for (auto& [split, record] : batch) {
    a(split), a(record.source), a(record.target), a(record.line);
    a(record.on_one_line), a(record.begins), a(record.ends);
    archive_name(a, record.file, file);
    archive_name(a, record.target_file, target_file);
  }
}

}  // namespace

void SentMessages::send(MPI_Comm comm, int to, EncodingMessage what, std::string bytes) {
  Message& message = sent_.emplace_back(std::move(bytes));
  check_mpi(MPI_Isend(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE, to,
                      static_cast<int>(what), comm, &message.request),
            "MPI_Isend");
}

bool SentMessages::first_arrived() {
  int done = 0;
  if (!sent_.empty()) check_mpi(MPI_Test(&sent_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

std::string SentMessages::take_first() {
  check_mpi(MPI_Wait(&sent_.front().request, MPI_STATUS_IGNORE), "MPI_Wait");
  std::string bytes = std::move(sent_.front().bytes);
  sent_.pop_front();
  return bytes;
}

std::optional<ReceivedMessage> receive_if_any(MPI_Comm comm, int from) {
  int there = 0;
  MPI_Message handle = MPI_MESSAGE_NULL;
  MPI_Status status;
  check_mpi(MPI_Improbe(from, MPI_ANY_TAG, comm, &there, &handle, &status), "MPI_Improbe");
  if (!there) return {};
  int bytes = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  ReceivedMessage message{.what = static_cast<EncodingMessage>(status.MPI_TAG),
                          .bytes = std::string(static_cast<size_t>(bytes), '\0')};
  check_mpi(MPI_Mrecv(message.bytes.data(), bytes, MPI_BYTE, &handle, MPI_STATUS_IGNORE), "MPI_Mrecv");
  return message;
}

void rest_between_looks() { std::this_thread::sleep_for(std::chrono::microseconds(500)); }

std::string packed(const Tokenizers& tokenizers) {
  ArchiveWriter a;
  a(tokenizers.source->to_json());
  a(tokenizers.target == tokenizers.source ? std::string() : tokenizers.target->to_json());
  return std::move(a.bytes());
}

Tokenizers unpacked_tokenizers(const std::string& bytes) {
  ArchiveReader a(bytes);
  std::string source, target;
  a(source), a(target);
  Tokenizers tokenizers;
  tokenizers.source = Tokenizer::from_json(source, "rank 0's tokenizer");
  tokenizers.target = target.empty() ? tokenizers.source : Tokenizer::from_json(target, "rank 0's target tokenizer");
  return tokenizers;
}

std::string packed(TextBatch& batch) {
  ArchiveWriter a;
  a(batch.size());
  archive_batch(a, batch);
  return std::move(a.bytes());
}

TextBatch unpacked_text(const std::string& bytes) {
  ArchiveReader a(bytes);
  size_t size = 0;
  a(size);
  TextBatch batch(size);
  archive_batch(a, batch);
  return batch;
}

std::string packed(EncodedBatch& batch) {
  ArchiveWriter a;
  a(batch);
  return std::move(a.bytes());
}

EncodedBatch unpacked_ids(const std::string& bytes) {
  EncodedBatch batch{.bad = BadRecords(true)};
  ArchiveReader a(bytes);
  a(batch);
  return batch;
}

}  // namespace weft
