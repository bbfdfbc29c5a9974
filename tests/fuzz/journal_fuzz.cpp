// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/journal_fuzz.h"

#include "base/error.h"
#include "base/hash.h"
#include "data/prepare/journal.h"
#include "tests/fuzz/text_of.h"

namespace weft::test {

bool reads_journal(std::span<const uint8_t> bytes) {
  const std::string_view body = text_of(bytes);
  ArchiveWriter sealed;
  sealed(hash64(body));
  sealed.bytes() += body;
  const auto journal = parse_journal(sealed.bytes(), 7);
  if (!journal) return false;
  const DataConfig data;
  const Manifest manifest{.kind = DatasetKind::Stream, .token_bytes = 2};
  DatasetWriter writer(data, manifest, "/dev/null");  // no folder: no file can be found or removed
  try {
    ArchiveReader(journal->writer)(writer);
  } catch (const DataError&) {
    return false;
  }
  writer.for_each_shard([](const ShardEntry& shard) {
    require<InternalError>(shard.file.find('/') == std::string::npos, "a shard leaves the folder");
  });
  return true;
}

}  // namespace weft::test
