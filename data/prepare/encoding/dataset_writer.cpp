// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/encoding/dataset_writer.h"

#include <algorithm>

#include "base/error.h"

namespace weft {

DatasetWriter::DatasetWriter(const DataConfig& data, const Manifest& manifest, const fs::path& directory)
    : data_(data) {
  source_begins_ = int{data_.source_bos};
  source_ends_ = data_.is_translation() ? int{data_.source_eos} : int{manifest.source.eos.has_value()};
  target_specials_ = 2;
  if (manifest.kind == DatasetKind::Answers) source_ends_ = 0, target_specials_ = 1;
  if (manifest.kind == DatasetKind::Chats) source_begins_ = source_ends_ = target_specials_ = 0;
  for (const DataSplit split : kSplits) {
    source_stats_.emplace_back(manifest.source.vocabulary, manifest.source.unk);
    target_stats_.emplace_back(manifest.target.vocabulary, manifest.target.unk);
    const auto s = static_cast<size_t>(split);
    entries_[s].references = holds_references(manifest.kind, split);
    writers_[s] = std::make_unique<SplitWriter>(directory,
                                                ShardIdentity{.kind = manifest.kind,
                                                              .split = split,
                                                              .token_bytes = manifest.token_bytes,
                                                              .references = entries_[s].references,
                                                              .source = manifest.source,
                                                              .target = manifest.target},
                                                data_.shard_tokens);
  }
}

void DatasetWriter::take(const EncodedBatch& batch) {
  const std::span<const int32_t> ids = batch.ids;
  size_t begin = 0;
  for (const EncodedBatch::Record& record : batch.records) {
    const auto s = static_cast<size_t>(record.split);
    const auto source = ids.subspan(begin, record.source_end - begin);
    const auto target = ids.subspan(record.source_end, record.target_end - record.source_end);
    begin = record.target_end;
    entries_[s].records += record.begins;
    entries_[s].truncated += record.truncated;
    entries_[s].invalid_utf8 += record.invalid_utf8 && (record.begins || !document_is_invalid_);
    document_is_invalid_ = record.invalid_utf8 || (document_is_invalid_ && !record.begins);
    const int specials = (record.begins ? source_begins_ : 0) + (record.ends ? source_ends_ : 0);
    source_stats_[s].add(source, specials, record.source_bytes);
    if (data_.is_pairs()) {
      target_stats_[s].add(target, target_specials_, record.target_bytes);
      writers_[s]->add_pair(source, target, record.reference);
    } else {
      record.begins ? writers_[s]->add_document(source) : writers_[s]->continue_document(source);
    }
  }
  for (size_t s = 0; s < entries_.size(); ++s) {
    entries_[s].dropped_empty += batch.dropped_empty[s];
    entries_[s].dropped_long += batch.dropped_long[s];
  }
  bad_.add(batch.bad.skipped());
}

std::vector<FullShard> DatasetWriter::take_full() {
  std::vector<FullShard> full;
  for (auto& writer : writers_) std::ranges::move(writer->take_full(), std::back_inserter(full));
  return full;
}

int64_t DatasetWriter::good() const {
  int64_t good = 0;
  for (const SplitEntry& entry : entries_) good += entry.records + entry.dropped_empty + entry.dropped_long;
  return good;
}

void DatasetWriter::check_unknown(DataSplit split, const SideCounts& counts, const char* side) const {
  const double share = counts.text_tokens == 0 ? 0 : double(counts.unknown) / double(counts.text_tokens);
  if (share <= data_.max_unknown_fraction) return;
  throw DataError(
      fmt::format(
          "split {}{}: {:.2f} % of {} tokens are unknown, more than the {:.2f} % that max_unknown_fraction allows",
          enum_name(split), side, 100 * share, counts.text_tokens, 100 * data_.max_unknown_fraction),
      "train a tokenizer that knows more, check that the text is of the right language, or raise max_unknown_fraction");
}

SplitEntry DatasetWriter::finish(DataSplit split, const Tokenizers& tokenizers) {
  const auto s = static_cast<size_t>(split);
  SplitEntry& entry = entries_[s];
  if (entry.records == 0) {
    throw DataError(fmt::format("split {} holds no {} ({} dropped without text, {} too long)", enum_name(split),
                                data_.is_pairs() ? "pair" : "document", entry.dropped_empty, entry.dropped_long),
                    data_.format == TextFormat::Text && data_.split == SplitRule::Hash && split != DataSplit::Train
                        ? "raise its fraction; one long document is divided by data.split: characters"
                        : "check the files, and the fractions where the split is not by file");
  }
  entry.source = source_stats_[s].counts(*tokenizers.source, data_.is_pairs());
  check_unknown(split, entry.source, data_.is_pairs() ? " (source)" : "");
  if (data_.is_pairs()) {
    entry.target = target_stats_[s].counts(*tokenizers.target, true);
    check_unknown(split, entry.target, " (target)");
  }
  entry.shards = writers_[s]->finish();
  return std::move(entry);
}

void DatasetWriter::release() {
  for (auto& writer : writers_) writer->release();
}

void DatasetWriter::for_each_shard(const std::function<void(const ShardEntry&)>& look) const {
  for (const auto& writer : writers_) {
    for (const ShardEntry& shard : writer->entries()) look(shard);
  }
}

}  // namespace weft
