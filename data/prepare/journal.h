// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "data/prepare/encoding/dataset_writer.h"

namespace weft {

constexpr const char* kJournalName = "preparation.journal";

// The progress of a preparation, so that a killed preparation can be resumed. The journal lies beside the shards (.tmp)
// whose tokens it counts, and is replaced as a whole after each shard is written. Text that it does not count is read
// and encoded again, so nothing depends on when it was written.
struct Journal {
  uint64_t identity = 0;                                // identity_of() settings and inputs
  uint64_t source_tokenizer = 0, target_tokenizer = 0;  // hashes of the tokenizers
  int64_t taken = 0;                                    // records, and pieces of long ones, that the writer took
  std::string writer;                                   // DatasetWriter, archived

  template <class Archive>
  void archive(Archive& a) {
    a(identity), a(source_tokenizer), a(target_tokenizer), a(taken), a(writer);
  }
};

void write_journal(const fs::path& directory, Journal journal);
// nullopt unless the bytes are an undamaged journal of this identity.
std::optional<Journal> parse_journal(std::string_view bytes, uint64_t identity);
// The same for the journal of a folder; nullopt too if there is none.
std::optional<Journal> read_journal(const fs::path& directory, uint64_t identity);
// Restores the writer's state. False if a counted shard is missing or has another size: the writer is useless then.
bool resume(const Journal& journal, const fs::path& directory, DatasetWriter& writer);

}  // namespace weft
