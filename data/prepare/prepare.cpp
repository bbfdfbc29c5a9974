#include "data/prepare/prepare.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "data/dataset.h"
#include "data/dataset_inspect.h"
#include "data/prepare/encode.h"
#include "data/prepare/inputs.h"
#include "data/prepare/output.h"
#include "data/prepare/phase.h"
#include "data/prepare/prepare_checks.h"
#include "data/prepare/split.h"
#include "data/prepare/tokenizers.h"
#include "data/prepare/workers.h"
#include "data/shard.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBatchBytes = 256 * 1024;

class Preparation {
 public:
  Preparation(const DataConfig& data, const TokenizerConfig& tokenizer, const std::optional<TokenizerConfig>& target,
              const PrepareOptions& options)
      : data_(data), tokenizer_(tokenizer), target_tokenizer_(target), options_(options), corpus_(data) {}

  std::vector<PrepareInput> inputs() const {
    std::vector<PrepareInput> inputs = corpus_.inputs();
    for (PrepareInput& input : tokenizer_inputs(data_, tokenizer_, target_tokenizer_)) {
      inputs.push_back(std::move(input));
    }
    return inputs;
  }
  Corpus& corpus() { return corpus_; }
  // Writes shards and tokenizers as .tmp into the directory and returns what commits them.
  Manifest write(OutputDirectory& directory);
  void release() {
    for (auto& writer : writers_) {
      if (writer) writer->release();
    }
  }

 private:
  void describe_sides(const Tokenizers& tokenizers, Manifest& manifest) const;
  void tokenise(const Tokenizers& tokenizers, const Manifest& manifest, const fs::path& directory);
  void take(const EncodedBatch& batch);
  void read_ahead();
  void finish_split(DataSplit split, const Tokenizers& tokenizers, Manifest& manifest);
  void check_unknown(DataSplit split, const SideCounts& counts, const char* side) const;
  bool own_target() const { return has_own_target(data_, target_tokenizer_); }

  const DataConfig& data_;
  const TokenizerConfig& tokenizer_;
  const std::optional<TokenizerConfig>& target_tokenizer_;
  const PrepareOptions& options_;
  Corpus corpus_;
  int source_specials_ = 0;  // that preparation adds to each sequence or document
  int target_specials_ = 0;
  std::array<std::unique_ptr<SplitWriter>, 3> writers_;
  std::array<SplitEntry, 3> entries_;
  std::vector<TokenStats> source_stats_, target_stats_;
  BadRecords bad_{true};  // all that were left out
};

DatasetSide side_of(const Tokenizer& tokenizer, std::string file) {
  return {.tokenizer_hash = tokenizer.hash(),
          .vocabulary = tokenizer.vocabulary(),
          .bos = tokenizer.special(SpecialRole::Bos),
          .eos = tokenizer.special(SpecialRole::Eos),
          .pad = tokenizer.special(SpecialRole::Pad),
          .unk = tokenizer.special(SpecialRole::Unk),
          .tokenizer_file = std::move(file)};
}

void Preparation::describe_sides(const Tokenizers& tokenizers, Manifest& manifest) const {
  manifest.kind = data_.is_translation() ? DatasetKind::Pairs
                  : data_.is_pairs()     ? DatasetKind::Answers
                                         : DatasetKind::Stream;
  manifest.source = side_of(*tokenizers.source, own_target() ? "source-tokenizer.json" : "tokenizer.json");
  manifest.target = own_target() ? side_of(*tokenizers.target, "target-tokenizer.json") : manifest.source;
  const int64_t largest = std::max(manifest.source.vocabulary, manifest.target.vocabulary);
  manifest.token_bytes = largest <= kMaxU16Vocabulary ? 2 : 4;
}

void Preparation::tokenise(const Tokenizers& tokenizers, const Manifest& manifest, const fs::path& directory) {
  const SequenceEncoder encoder(data_, tokenizers.source, tokenizers.target);
  const bool pairs = data_.is_pairs();
  source_specials_ = pairs ? int{data_.source_bos} + int{data_.source_eos} : int{manifest.source.eos.has_value()};
  target_specials_ = 2;
  if (manifest.kind == DatasetKind::Answers) source_specials_ = 0, target_specials_ = 1;
  for (const DataSplit split : kSplits) {
    source_stats_.emplace_back(manifest.source.vocabulary, manifest.source.unk);
    target_stats_.emplace_back(manifest.target.vocabulary, manifest.target.unk);
    writers_[static_cast<size_t>(split)] =
        std::make_unique<SplitWriter>(directory,
                                      ShardIdentity{.kind = manifest.kind,
                                                    .split = std::string(split_name(split)),
                                                    .token_bytes = manifest.token_bytes,
                                                    .references = holds_references(manifest.kind, split_name(split)),
                                                    .source = manifest.source,
                                                    .target = manifest.target},
                                      data_.shard_tokens);
  }
  OrderedWorkers<TextBatch, EncodedBatch> workers(options_.threads,
                                                  [&](const TextBatch& batch) { return encoder.encode(batch); });
  PhaseProgress phase(options_, "tokenising", corpus_.total_bytes());
  corpus_.rewind();
  TextBatch batch;
  size_t batch_bytes = 0;
  const auto submit = [&] {
    workers.submit(std::exchange(batch, {}));
    batch_bytes = 0;
    if (workers.pending() >= workers.window()) take(workers.take());
    phase.tick(corpus_.consumed());
  };
  DataSplit split;
  TextRecord record;
  while (corpus_.next(split, record)) {
    batch_bytes += record.source.size() + record.target.size();
    batch.emplace_back(split, std::move(record));
    if (batch_bytes >= kBatchBytes) submit();
  }
  submit();
  while (workers.pending() > 0) take(workers.take());
  phase.done();
}

void Preparation::take(const EncodedBatch& batch) {
  const std::span<const int32_t> ids = batch.ids;
  size_t begin = 0;
  for (const EncodedBatch::Record& record : batch.records) {
    const auto s = static_cast<size_t>(record.split);
    const auto source = ids.subspan(begin, record.source_end - begin);
    const auto target = ids.subspan(record.source_end, record.target_end - record.source_end);
    begin = record.target_end;
    ++entries_[s].records;
    entries_[s].truncated += record.truncated;
    source_stats_[s].add(source, source_specials_, record.source_bytes);
    if (data_.is_pairs()) {
      target_stats_[s].add(target, target_specials_, record.target_bytes);
      writers_[s]->add_pair(source, target, record.reference);
    } else {
      writers_[s]->add_document(source);
    }
  }
  for (size_t s = 0; s < entries_.size(); ++s) {
    entries_[s].dropped_empty += batch.dropped_empty[s];
    entries_[s].dropped_long += batch.dropped_long[s];
    entries_[s].invalid_utf8 += batch.invalid_utf8[s];
  }
  bad_.add(batch.bad.skipped());
}

void Preparation::check_unknown(DataSplit split, const SideCounts& counts, const char* side) const {
  const double share = counts.text_tokens == 0 ? 0 : double(counts.unknown) / double(counts.text_tokens);
  if (share <= data_.max_unknown_fraction) return;
  throw DataError(
      fmt::format(
          "split {}{}: {:.2f} % of {} tokens are unknown, more than the {:.2f} % that max_unknown_fraction allows",
          split_name(split), side, 100 * share, counts.text_tokens, 100 * data_.max_unknown_fraction),
      "train a tokenizer that knows more, check that the text is of the right language, or raise max_unknown_fraction");
}

void Preparation::finish_split(DataSplit split, const Tokenizers& tokenizers, Manifest& manifest) {
  const auto s = static_cast<size_t>(split);
  SplitEntry& entry = entries_[s];
  if (!corpus_.has(split)) return;
  if (entry.records == 0) {
    throw DataError(fmt::format("split {} holds no {} ({} dropped without text, {} too long)", split_name(split),
                                data_.is_pairs() ? "pair" : "document", entry.dropped_empty, entry.dropped_long),
                    "check the files, and the fractions where the split is not by file");
  }
  entry.source = source_stats_[s].counts(*tokenizers.source, data_.is_pairs());
  check_unknown(split, entry.source, data_.is_pairs() ? " (source)" : "");
  if (data_.is_pairs()) {
    entry.target = target_stats_[s].counts(*tokenizers.target, true);
    check_unknown(split, entry.target, " (target)");
  }
  entry.references = holds_references(manifest.kind, split_name(split));
  const Duplicates::Counts duplicates = corpus_.duplicates(split);
  entry.duplicates = duplicates.repeated;
  entry.in_train = duplicates.in_train;
  if (split == DataSplit::Train) entry.dropped_duplicate = corpus_.dropped_duplicates();
  entry.shards = writers_[s]->finish();
  manifest.splits.emplace(split_name(split), std::move(entry));
}

// What the split of a record depends on.
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

Manifest Preparation::write(OutputDirectory& directory) {
  read_ahead();
  const Tokenizers tokenizers = make_tokenizers(data_, tokenizer_, target_tokenizer_, corpus_, options_);
  Manifest manifest;
  describe_sides(tokenizers, manifest);
  tokenise(tokenizers, manifest, directory.path());
  bad_.add(corpus_.skipped());
  int64_t good = 0;
  for (const SplitEntry& entry : entries_) good += entry.records + entry.dropped_empty + entry.dropped_long;
  bad_.check_share(good, data_.max_bad_fraction);
  manifest.skipped = bad_.skipped();
  for (const DataSplit split : kSplits) finish_split(split, tokenizers, manifest);
  directory.stage(manifest.source.tokenizer_file, tokenizers.source->to_json());
  if (own_target()) directory.stage(manifest.target.tokenizer_file, tokenizers.target->to_json());
  return manifest;
}

// Why the dataset that lies there must be written again; empty if it can stay.
std::string reason_to_replace(const fs::path& directory, const Manifest& manifest, const std::string& differs,
                              bool force) {
  if (!differs.empty()) {
    if (force) return differs;
    throw DataError(fmt::format("{} already holds another dataset: {}", directory.string(), differs),
                    "choose another directory, or force the preparation to replace it");
  }
  try {
    std::optional<Dataset> split;
    for (const auto& [name, entry] : manifest.splits) split.emplace(Dataset::open(directory, name));
    if (!split) return "it has no splits";
    split->load_source_tokenizer();
    if (manifest.target.tokenizer_file != manifest.source.tokenizer_file) split->load_target_tokenizer();
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

// Does a dataset that was made with these settings lie there whole?
bool holds(const fs::path& directory, const std::map<std::string, std::string>& settings) {
  if (!is_prepared(directory)) return false;
  try {
    const Manifest manifest = read_manifest(directory);
    return reason_to_replace(directory, manifest, difference_of_settings(manifest, settings), true).empty();
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace

PrepareReport prepare(const DataConfig& data, const TokenizerConfig& tokenizer,
                      const std::optional<TokenizerConfig>& target_tokenizer, const PrepareOptions& options) {
  const Clock::time_point begin = Clock::now();
  const auto settings = prepare_settings(data, tokenizer, target_tokenizer);
  Tokenizers known;
  try {
    known = check_before_reading(data, tokenizer, target_tokenizer);
  } catch (const DataError& error) {
    if (options.force || !holds(data.directory, settings)) throw;
    return {.already_prepared = true,
            .not_compared = error.what(),
            .directory = data.directory,
            .manifest = read_manifest(data.directory)};
  }
  Preparation preparation(data, tokenizer, target_tokenizer, options);
  check_documents_are_kept_apart(data, *known.source, preparation.corpus());
  const std::vector<PrepareInput> files = preparation.inputs();
  std::vector<InputEntry> inputs = stat_inputs(files);

  PrepareReport report{.directory = data.directory};
  if (is_prepared(report.directory)) {
    std::string differs;
    try {
      report.manifest = read_manifest(report.directory);
      differs = difference(report.manifest, settings, files, inputs);
      if (differs.empty() && options.force && report.manifest.version < kDatasetVersion) {
        differs = fmt::format("its format is of version {}", report.manifest.version);
      }
    } catch (const DataError& error) {
      if (!options.force) throw;
      differs = error.what();
    }
    report.replaced = reason_to_replace(report.directory, report.manifest, differs, options.force);
    report.already_prepared = report.replaced.empty();
    if (report.already_prepared) return report;
  }

  OutputDirectory directory(report.directory);
  report.manifest = preparation.write(directory);
  const std::vector<InputEntry> after = stat_inputs(files);
  for (size_t i = 0; i < inputs.size(); ++i) {
    require<DataError>(inputs[i] == after[i], "{} changed while it was read", inputs[i].path);
  }
  hash_inputs(files, inputs);
  report.manifest.inputs = std::move(inputs);
  report.manifest.settings = settings;
  directory.commit(report.manifest);
  preparation.release();
  report.seconds = seconds_since(begin);
  return report;
}

std::string prepared_otherwise(const fs::path& directory, const DataConfig& data, const TokenizerConfig& tokenizer,
                               const std::optional<TokenizerConfig>& target_tokenizer) {
  Manifest manifest = read_manifest(directory);
  auto settings = prepare_settings(data, tokenizer, target_tokenizer);
  for (const char* free : {"data.shard_tokens", "data.max_unknown_fraction", "data.max_unknown"}) {
    manifest.settings.erase(free), settings.erase(free);
  }
  const auto is_file_of = [](const std::string& file, const DatasetSide& side) {
    return !file.empty() && (!fs::exists(file) || Tokenizer::load(file)->hash() == side.tokenizer_hash);
  };
  const auto settle_file = [&](const char* key, const std::string& file, const DatasetSide& side) {
    if (manifest.settings.contains(key) && is_file_of(file, side)) settings[key] = manifest.settings[key];
  };
  if (is_file_of(data.tokenizer_file, manifest.source)) {  // however it came about
    std::erase_if(manifest.settings, [](const auto& setting) {
      return setting.first.starts_with("tokenizer.") || setting.first.starts_with("target_tokenizer.");
    });
  }
  settle_file("data.tokenizer_file", data.tokenizer_file, manifest.source);
  settle_file("data.target_tokenizer_file", data.target_tokenizer_file, manifest.target);
  return difference_of_settings(manifest, settings);
}

std::string describe(const PrepareReport& report) {
  std::string text;
  if (!report.not_compared.empty()) {
    text = fmt::format("{} is prepared already with these settings; its text cannot be compared: {}\n",
                       report.directory.string(), report.not_compared);
  } else if (report.already_prepared) {
    text = fmt::format("{} is prepared already from this text with these settings: nothing to do\n",
                       report.directory.string());
  } else {
    text = fmt::format("prepared {} in {:.1f} s\n", report.directory.string(), report.seconds);
    if (!report.replaced.empty()) text += fmt::format("  in place of what was there: {}\n", report.replaced);
  }
  return text + describe_splits(report.manifest);
}

}  // namespace weft
