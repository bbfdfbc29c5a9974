// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/journal.h"

#include "base/error.h"
#include "base/hash.h"

namespace weft {

void write_journal(const fs::path& directory, Journal journal) {
  ArchiveWriter body;
  body(journal);
  ArchiveWriter sealed;
  sealed(hash64(body.bytes()));
  sealed.bytes() += body.bytes();
  write_file_atomically(directory / kJournalName, sealed.bytes());
}

std::optional<Journal> parse_journal(std::string_view bytes, uint64_t identity) {
  try {
    uint64_t checksum = 0;
    ArchiveReader reader(bytes);
    reader(checksum);
    if (checksum != hash64(bytes.substr(sizeof checksum))) return {};
    Journal journal;
    reader(journal);
    if (journal.identity != identity) return {};
    return journal;
  } catch (const DataError&) {  // it ends too early
    return {};
  }
}

std::optional<Journal> read_journal(const fs::path& directory, uint64_t identity) {
  const fs::path path = directory / kJournalName;
  if (!fs::exists(path)) return {};
  try {
    return parse_journal(read_file(path), identity);
  } catch (const DataError&) {  // unreadable: the preparation starts from scratch
    return {};
  }
}

bool resume(const Journal& journal, const fs::path& directory, DatasetWriter& writer) {
  try {
    ArchiveReader(journal.writer)(writer);
  } catch (const DataError&) {
    return false;
  }
  bool whole = true;
  writer.for_each_shard([&](const ShardEntry& shard) {
    std::error_code error;
    whole = whole && fs::file_size(directory / (shard.file + ".tmp"), error) == shard.bytes && !error;
  });
  return whole;
}

}  // namespace weft
