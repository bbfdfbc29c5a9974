// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "data/dataset/manifest.h"
#include "data/dataset/shard_writer.h"

namespace weft::test {

using Ids = std::vector<int32_t>;
using IdPairs = std::vector<std::pair<Ids, Ids>>;

// Prepared directories made of ids, without text or tokenizers; a split is added to the splits that are there.
struct DatasetBuilder {
  fs::path directory;
  int64_t vocabulary = 100;
  int64_t shard_tokens = 1 << 20;
  uint64_t tokenizer_hash = 0x1234;
  DatasetKind of_rows = DatasetKind::Pairs;  // or Answers, Chats

  Manifest manifest(DatasetKind kind) const {
    const DatasetSide side{.tokenizer_hash = tokenizer_hash,
                           .vocabulary = vocabulary,
                           .bos = 1,
                           .eos = 2,
                           .tokenizer_file = "tokenizer.json"};
    return {.kind = kind, .token_bytes = vocabulary <= kMaxU16Vocabulary ? 2 : 4, .source = side, .target = side};
  }

  void stream(const std::vector<Ids>& documents, DataSplit split = DataSplit::Train) const {
    Manifest result = manifest(DatasetKind::Stream);
    SplitWriter writer(directory, identity(result, split), shard_tokens);
    SplitEntry entry{.records = static_cast<int64_t>(documents.size())};
    for (const Ids& document : documents) {
      writer.add_document(document);
      entry.source.tokens += static_cast<int64_t>(document.size());
    }
    commit(writer, result, split, entry);
  }

  // `texts`: of rows that have a text beside them, as chats have their turns.
  void pairs(const IdPairs& rows, DataSplit split = DataSplit::Train,
             const std::vector<std::string>& texts = {}) const {
    Manifest result = manifest(of_rows);
    ShardIdentity of_split = identity(result, split);
    of_split.references = !texts.empty();
    SplitWriter writer(directory, of_split, shard_tokens);
    SplitEntry entry{.records = static_cast<int64_t>(rows.size()), .references = of_split.references};
    for (size_t row = 0; row < rows.size(); ++row) {
      const auto& [source, target] = rows[row];
      writer.add_pair(source, target, texts.empty() ? "" : texts[row]);
      entry.source.tokens += static_cast<int64_t>(source.size());
      entry.target.tokens += static_cast<int64_t>(target.size());
    }
    commit(writer, result, split, entry);
  }

 private:
  static ShardIdentity identity(const Manifest& manifest, DataSplit split) {
    return {.kind = manifest.kind,
            .split = split,
            .token_bytes = manifest.token_bytes,
            .source = manifest.source,
            .target = manifest.target};
  }
  void commit(SplitWriter& writer, Manifest& result, DataSplit split, SplitEntry& entry) const {
    entry.shards = writer.finish();
    writer.release();
    for (const ShardEntry& shard : entry.shards) fs::rename(directory / (shard.file + ".tmp"), directory / shard.file);
    if (is_prepared(directory)) result.splits = read_manifest(directory).splits;
    result.splits.insert_or_assign(split, entry);
    write_file_atomically(directory / kManifestName, manifest_text(result));
  }
};

}  // namespace weft::test
