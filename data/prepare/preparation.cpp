// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/preparation.h"

#include <algorithm>

#include "base/error.h"
#include "data/prepare/encoding/batch_encoder.h"
#include "data/prepare/phase.h"

namespace weft {

namespace {

DatasetSide side_of(const Tokenizer& tokenizer, std::string file) {
  return {.tokenizer_hash = tokenizer.hash(),
          .vocabulary = tokenizer.vocabulary(),
          .bos = tokenizer.special(SpecialRole::Bos),
          .eos = tokenizer.special(SpecialRole::Eos),
          .pad = tokenizer.special(SpecialRole::Pad),
          .unk = tokenizer.special(SpecialRole::Unk),
          .tokenizer_file = std::move(file)};
}

}  // namespace

Preparation::Preparation(ResolvedText text, const PrepareOptions& options)
    : text_(std::move(text)), options_(options), corpus_(text_.job.data, text_.files, options.threads) {}

std::vector<PrepareInput> Preparation::inputs() const {
  std::vector<PrepareInput> inputs = corpus_.inputs();
  inputs.insert(inputs.end(), text_.tokenizer_files.begin(), text_.tokenizer_files.end());
  return inputs;
}

Manifest Preparation::describe_sides(const Tokenizers& tokenizers) const {
  Manifest manifest;
  manifest.kind = data().kind();
  manifest.source = side_of(*tokenizers.source, source_file());
  manifest.target = own_target() ? side_of(*tokenizers.target, target_file()) : manifest.source;
  const int64_t largest = std::max(manifest.source.vocabulary, manifest.target.vocabulary);
  manifest.token_bytes = largest <= kMaxU16Vocabulary ? 2 : 4;
  return manifest;
}

// Reads all text before the pass that encodes it, if the split of a record or a count depends on the whole text.
void Preparation::read_ahead() {
  if (corpus_.needs_size()) {
    PhaseProgress phase(options_, "measuring the text", corpus_.total_bytes());
    corpus_.measure([&](const Corpus& corpus) { phase.tick(corpus.consumed()); });
    phase.done();
  }
  if (corpus_.needs_comparison()) {
    PhaseProgress phase(options_, "comparing records", corpus_.total_bytes());
    corpus_.find_duplicates([&](const Corpus& corpus) { phase.tick(corpus.consumed()); });
    phase.done();
  }
}

// The tokenizers of the journal that was found; learnt tokenizers were staged with it. nullopt if a tokenizer is
// missing or different.
std::optional<Tokenizers> Preparation::staged_tokenizers(const fs::path& directory) const {
  try {
    Tokenizers staged{.source = text_.tokenizers.source, .target = text_.tokenizers.target};
    const auto load = [&](const char* name) { return Tokenizer::load(directory / (std::string(name) + ".tmp")); };
    if (text_.tokenizers.learns_source) staged.source = load(source_file());
    if (!own_target()) staged.target = staged.source;
    if (own_target() && text_.tokenizers.learns_target) staged.target = load(target_file());
    const bool same =
        staged.source->hash() == found_->source_tokenizer && staged.target->hash() == found_->target_tokenizer;
    return same ? std::optional(staged) : std::nullopt;
  } catch (const DataError&) {
    return {};
  }
}

Tokenizers Preparation::stage_tokenizers(OutputDirectory& directory) {
  std::optional<Tokenizers> tokenizers;
  if (found_) tokenizers = staged_tokenizers(directory.staging());
  if (!tokenizers) {
    found_.reset();
    directory.clear();
    tokenizers = learn_tokenizers(text_.job, text_.tokenizers, corpus_, options_);
  }
  // Learnt tokenizers are already staged with the journal; the others are staged by each run.
  if (!found_ || !text_.tokenizers.learns_source) directory.stage(source_file(), tokenizers->source->to_json());
  if (own_target() && (!found_ || !text_.tokenizers.learns_target)) {
    directory.stage(target_file(), tokenizers->target->to_json());
  }
  journal_.source_tokenizer = tokenizers->source->hash();
  journal_.target_tokenizer = tokenizers->target->hash();
  return *tokenizers;
}

void Preparation::open_writer(const OutputDirectory& directory, const Manifest& manifest) {
  std::set<std::string> kept = {kJournalName, std::string(source_file()) + ".tmp", std::string(target_file()) + ".tmp"};
  const auto open = [&] { writer_ = std::make_unique<DatasetWriter>(data(), manifest, directory.staging()); };
  open();
  if (found_ && resume(*found_, directory.staging(), *writer_)) {
    journal_.taken = resumed_ = found_->taken;
    writer_->for_each_shard([&](const ShardEntry& shard) { kept.insert(shard.file + ".tmp"); });
  } else {
    open();
  }
  directory.clear(kept);
  write_journal(directory.staging(), journal_so_far());
}

Journal Preparation::journal_so_far() {
  ArchiveWriter state;
  state(*writer_);
  Journal journal = journal_;
  journal.writer = std::move(state.bytes());
  return journal;
}

// Writes the full shards while more text is encoded. The journal counts all that was taken so far, and is written after
// the shards are on the disk.
void Preparation::save_beside(const fs::path& directory, std::future<void>& saving) {
  std::vector<FullShard> full = writer_->take_full();
  if (full.empty()) return;
  if (saving.valid()) saving.get();
  saving = std::async(std::launch::async, [directory, full = std::move(full), journal = journal_so_far()]() mutable {
    for (const FullShard& shard : full) shard.write();
    write_journal(directory, std::move(journal));
  });
}

void Preparation::tokenise(const Tokenizers& tokenizers, const fs::path& directory) {
  BatchEncoder encoder(data(), tokenizers, options_.threads, options_.ranks);
  PhaseProgress phase(options_, "tokenising", corpus_.total_bytes());
  std::deque<size_t> sizes;  // records in each pending batch
  std::future<void> saving;  // its destructor waits, also after an error
  const auto take = [&] {
    writer_->take(encoder.take());
    journal_.taken += static_cast<int64_t>(sizes.front());
    sizes.pop_front();
    save_beside(directory, saving);
  };
  TextBatch batch;
  size_t batch_bytes = 0;
  const auto submit = [&] {
    if (batch.empty()) return;
    sizes.push_back(batch.size());
    encoder.submit(std::exchange(batch, {}));
    batch_bytes = 0;
    if (encoder.pending() >= encoder.window()) take();
  };
  int64_t passed = 0;
  const auto add = [&](DataSplit split, TextRecord&& record) {
    if (passed++ < resumed_) return;
    batch_bytes += record.source.size() + record.target.size();
    batch.emplace_back(split, std::move(record));
    if (batch_bytes >= kBatchBytes) submit();
  };
  corpus_.rewind();
  DataSplit split;
  for (TextRecord record; corpus_.next(split, record); phase.tick(corpus_.consumed())) {
    if (data().is_pairs() || record.source.size() <= kPieceBytes) {
      add(split, std::move(record));
      continue;
    }
    for (TextRecord& piece : in_pieces(std::move(record), *tokenizers.source, kPieceBytes))
      add(split, std::move(piece));
  }
  submit();
  while (encoder.pending() > 0) take();
  if (saving.valid()) saving.get();
  phase.done();
  shares_ = encoder.shares();
}

Manifest Preparation::write(OutputDirectory& directory, uint64_t identity) {
  found_ = read_journal(directory.staging(), identity);
  journal_.identity = identity;
  if (!found_) directory.clear();
  read_ahead();
  const Tokenizers tokenizers = stage_tokenizers(directory);
  Manifest manifest = describe_sides(tokenizers);
  open_writer(directory, manifest);
  tokenise(tokenizers, directory.staging());
  BadRecords bad = writer_->bad();
  bad.add(corpus_.skipped());
  bad.check_share(writer_->good(), data().max_bad_fraction);
  manifest.skipped = bad.skipped();
  for (const DataSplit split : kSplits) {
    if (!corpus_.has(split)) continue;
    SplitEntry entry = writer_->finish(split, tokenizers);
    const Duplicates::Counts duplicates = corpus_.duplicates(split);
    entry.duplicates = duplicates.repeated;
    entry.in_train = duplicates.in_train;
    if (split == DataSplit::Train) entry.dropped_duplicate = corpus_.dropped_duplicates();
    manifest.splits.emplace(split, std::move(entry));
  }
  return manifest;
}

}  // namespace weft
