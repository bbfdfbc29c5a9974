// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/dataset.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "base/hash.h"
#include "data/dataset/open_shards.h"
#include "data/dataset/parts.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

class Dataset::State {
 public:
  State(const std::vector<DatasetSource>& sources, DataSplit split, const ShardShare& checked);

  size_t shard_of(const std::vector<int64_t>& begins, int64_t index, int64_t total, const char* what) const;
  std::string name() const { return directory_names(parts); }

  DatasetHeader header;
  std::vector<DatasetPart> parts;
  std::optional<OpenShards> shards;
  // Tokens and records before each shard.
  std::vector<int64_t> tokens_before;
  std::vector<int64_t> records_before;
};

namespace {

std::shared_ptr<const Tokenizer> load_checked(const fs::path& directory, const DatasetSide& side) {
  const fs::path path = directory / side.tokenizer_file;
  auto tokenizer = Tokenizer::load(path);
  require<DataError>(tokenizer->hash() == side.tokenizer_hash,
                     "{} is not the tokenizer that made this dataset: its hash is {}, the dataset's {}", path.string(),
                     hash_hex(tokenizer->hash()), hash_hex(side.tokenizer_hash));
  return tokenizer;
}

}  // namespace

Dataset::State::State(const std::vector<DatasetSource>& sources, DataSplit split, const ShardShare& checked) {
  const std::vector<SplitOfSource> found = read_splits(sources, split);
  header = header_of(found, split);
  parts = parts_of(found, split);
  std::vector<ShardFile> files;
  int64_t tokens = 0, records = 0;
  for (const SplitOfSource& part : found) {
    const Manifest& manifest = part.manifest;
    const SplitEntry& entry = part.entry(split);
    const auto identity = std::make_shared<const ShardIdentity>(identity_of(manifest, split));
    for (const ShardEntry& shard : entry.shards) {
      tokens_before.push_back(tokens);
      records_before.push_back(records);
      tokens += shard.source.count;
      records += shard.records;
      files.push_back({.directory = part.source.directory, .entry = shard, .identity = identity});
    }
  }
  shards.emplace(std::move(files));
  if (checked.of == 0) return;
  for (auto i = static_cast<size_t>(checked.part); i < shards->count(); i += static_cast<size_t>(checked.of)) {
    shards->open(i);
  }
}

// The last shard that begins at or before `index`. Shards in which no record begins are skipped.
size_t Dataset::State::shard_of(const std::vector<int64_t>& begins, int64_t index, int64_t total,
                                const char* what) const {
  if (index < 0 || index >= total) {
    throw InternalError(fmt::format("{}, split {}: {} {} of {}", name(), enum_name(header.split), what, index, total));
  }
  return static_cast<size_t>(std::upper_bound(begins.begin(), begins.end(), index) - begins.begin()) - 1;
}

Dataset::Dataset(std::unique_ptr<const State> state) : state_(std::move(state)) {}
Dataset::~Dataset() = default;
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;

Dataset Dataset::open(const fs::path& directory, DataSplit split, const ShardShare& checked) {
  return open(std::vector<DatasetSource>{{.directory = directory}}, split, checked);
}
Dataset Dataset::open(const std::vector<DatasetSource>& sources, DataSplit split, const ShardShare& checked) {
  return Dataset(std::make_unique<const State>(sources, split, checked));
}

bool is_prepared(const fs::path& directory) { return !directory.empty() && fs::exists(directory / kManifestName); }

std::vector<DataSplit> Dataset::splits(const fs::path& directory) {
  const Manifest manifest = read_manifest(directory);
  std::vector<DataSplit> splits;
  for (const auto& [split, entry] : manifest.splits) splits.push_back(split);
  return splits;
}

bool Dataset::has_split(const std::vector<DatasetSource>& sources, DataSplit split) {
  return std::ranges::any_of(
      sources, [&](const DatasetSource& source) { return read_manifest(source.directory).splits.contains(split); });
}

const DatasetHeader& Dataset::header() const { return state_->header; }
std::string Dataset::name() const { return state_->name(); }
std::string Dataset::earlier_format() const {
  if (header().version >= kFirstPlacedVersion) return {};
  return fmt::format(
      "{}: a dataset of format {}: HDF5 opens its shards, and its tokens have no checksums; "
      "`weft prepare --force` makes one of format {}",
      name(), header().version, kDatasetVersion);
}
const std::vector<DatasetPart>& Dataset::parts() const { return state_->parts; }
int64_t Dataset::opened_shards() const { return state_->shards->opened(); }
int64_t Dataset::num_tokens() const { return state_->header.num_tokens; }
int64_t Dataset::num_pairs() const { return state_->header.num_pairs; }

void Dataset::read_tokens(int64_t first, std::span<int32_t> into) const {
  const auto count = static_cast<int64_t>(into.size());
  const DatasetHeader& header = state_->header;
  const int64_t total = header.kind == DatasetKind::Stream ? header.num_tokens : 0;
  if (first < 0 || first > total || count > total - first) {
    throw InternalError(fmt::format("{}, split {}: {} tokens from token {} on, in a stream of {}", name(),
                                    enum_name(header.split), count, first, total));
  }
  while (!into.empty()) {
    const size_t i = state_->shard_of(state_->tokens_before, first, header.num_tokens, "token");
    const int64_t local = first - state_->tokens_before[i];
    const auto n = std::min(into.size(), static_cast<size_t>(state_->shards->entry(i).source.count - local));
    state_->shards->open(i)->read_source(local, into.first(n));
    into = into.subspan(n);
    first += static_cast<int64_t>(n);
  }
}

int64_t Dataset::document_begin(int64_t document) const {
  const size_t i = state_->shard_of(state_->records_before, document, state_->header.num_documents, "document");
  return state_->tokens_before[i] + state_->shards->open(i)->document_begin(document - state_->records_before[i]);
}

int32_t Dataset::source_length(int64_t pair) const {
  const size_t i = state_->shard_of(state_->records_before, pair, num_pairs(), "pair");
  const Shard::TokenRange range = state_->shards->open(i)->source_range(pair - state_->records_before[i]);
  return static_cast<int32_t>(range.end - range.begin);
}

int32_t Dataset::target_length(int64_t pair) const {
  const size_t i = state_->shard_of(state_->records_before, pair, num_pairs(), "pair");
  const Shard::TokenRange range = state_->shards->open(i)->target_range(pair - state_->records_before[i]);
  return static_cast<int32_t>(range.end - range.begin);
}

void Dataset::all_lengths(std::vector<int32_t>& source, std::vector<int32_t>& target) const {
  source.clear(), target.clear();
  source.reserve(static_cast<size_t>(num_pairs())), target.reserve(static_cast<size_t>(num_pairs()));
  for (size_t i = 0; i < state_->shards->count(); ++i) state_->shards->open(i)->append_lengths(source, target);
}

void Dataset::read_source(int64_t pair, std::span<int32_t> into) const {
  const size_t i = state_->shard_of(state_->records_before, pair, num_pairs(), "pair");
  const auto shard = state_->shards->open(i);
  const Shard::TokenRange range = shard->source_range(pair - state_->records_before[i]);
  require<InternalError>(range.end - range.begin == static_cast<int64_t>(into.size()),
                         "source sequence {} has {} tokens, not {}", pair, range.end - range.begin, into.size());
  shard->read_source(range.begin, into);
}

void Dataset::read_target(int64_t pair, std::span<int32_t> into) const {
  const size_t i = state_->shard_of(state_->records_before, pair, num_pairs(), "pair");
  const auto shard = state_->shards->open(i);
  const Shard::TokenRange range = shard->target_range(pair - state_->records_before[i]);
  require<InternalError>(range.end - range.begin == static_cast<int64_t>(into.size()),
                         "target sequence {} has {} tokens, not {}", pair, range.end - range.begin, into.size());
  shard->read_target(range.begin, into);
}

std::string Dataset::read_reference(int64_t pair) const {
  require<InternalError>(header().references, "{}, split {}: it holds no references", name(),
                         enum_name(header().split));
  const size_t i = state_->shard_of(state_->records_before, pair, num_pairs(), "pair");
  return state_->shards->open(i)->read_reference(pair - state_->records_before[i]);
}

std::vector<int32_t> Dataset::read_turns(int64_t conversation) const {
  const std::string text = read_reference(conversation);
  std::vector<int32_t> turns;
  int64_t sums[] = {0, 0};
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    int32_t turn = 0;
    const auto [next, error] = std::from_chars(at, end, turn);
    require<DataError>(error == std::errc() && turn > 0, "{}, split {}: the turns of conversation {} are no counts",
                       name(), enum_name(header().split), conversation);
    sums[turns.size() % 2] += turn;
    turns.push_back(turn);
    at = next == end ? next : next + 1;
  }
  const int32_t context = source_length(conversation), learnt = target_length(conversation);
  require<DataError>(sums[0] == context && sums[1] == learnt,
                     "{}, split {}: the turns of conversation {} are of {} and {} tokens, and it has {} and {}", name(),
                     enum_name(header().split), conversation, sums[0], sums[1], context, learnt);
  return turns;
}

std::shared_ptr<const Tokenizer> Dataset::load_source_tokenizer() const {
  return load_checked(parts().front().directory, header().source);
}
std::shared_ptr<const Tokenizer> Dataset::load_target_tokenizer() const {
  return load_checked(parts().front().directory, header().target);
}

}  // namespace weft
