// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/parts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/hash.h"

namespace weft {
namespace {

// The names of the splits that any of the manifests has.
std::string split_names(const std::vector<Manifest>& manifests) {
  std::vector<std::string_view> names;
  for (const DataSplit split : kSplits) {
    const auto has = [split](const Manifest& manifest) { return manifest.splits.contains(split); };
    if (std::ranges::any_of(manifests, has)) names.push_back(enum_name(split));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string id_text(const std::optional<int32_t>& id) { return id ? fmt::format("{}", *id) : "none"; }

// The difference in the meaning of ids, as "name, A or B"; empty if there is none.
std::string side_difference(const char* side, const DatasetSide& a, const DatasetSide& b) {
  const auto found = [&](const char* what, const std::string& first, const std::string& second) {
    return fmt::format("{}{}, {} or {}", side, what, first, second);
  };
  if (a.tokenizer_hash != b.tokenizer_hash) {
    return found("tokenizer (its hash)", hash_hex(a.tokenizer_hash), hash_hex(b.tokenizer_hash));
  }
  if (a.vocabulary != b.vocabulary) {
    return found("vocabulary", fmt::format("{}", a.vocabulary), fmt::format("{}", b.vocabulary));
  }
  for (const auto& [name, role] : {std::pair{"bos", &DatasetSide::bos},
                                   {"eos", &DatasetSide::eos},
                                   {"pad", &DatasetSide::pad},
                                   {"unk", &DatasetSide::unk}}) {
    if (a.*role != b.*role) return found(name, id_text(a.*role), id_text(b.*role));
  }
  return {};
}

// The difference in the special tokens of source sequences; a manifest of version 1 may not state them.
std::string convention_difference(const Manifest& a, const Manifest& b) {
  if (a.kind != DatasetKind::Pairs) return {};
  for (const char* key : {"data.source_bos", "data.source_eos"}) {
    const auto first = a.settings.find(key), second = b.settings.find(key);
    if (first == a.settings.end() || second == b.settings.end() || first->second == second->second) continue;
    return fmt::format("{}, {} or {}", key, first->second, second->second);
  }
  return {};
}

std::string difference(const Manifest& a, const Manifest& b) {
  if (a.kind != b.kind) return fmt::format("kind, {} or {}", enum_name(a.kind), enum_name(b.kind));
  const bool two = has_two_sides(a.kind);
  if (auto differs = side_difference(two ? "source " : "", a.source, b.source); !differs.empty()) return differs;
  if (auto differs = side_difference("target ", a.target, b.target); two && !differs.empty()) return differs;
  return convention_difference(a, b);
}

void check_together(const std::vector<DatasetSource>& sources, const std::vector<Manifest>& manifests) {
  for (size_t i = 1; i < manifests.size(); ++i) {
    const std::string differs = difference(manifests[0], manifests[i]);
    if (differs.empty()) continue;
    const fs::path& first = sources[0].directory;
    const bool kinds = manifests[0].kind != manifests[i].kind;
    throw DataError(
        fmt::format("{} and {} cannot be mixed: they differ in {}", first.string(), sources[i].directory.string(),
                    differs),
        kinds ? "mix datasets of one kind"
              : fmt::format("prepare the second with the first one's tokenizer (data.tokenizer_file: {}) and settings",
                            (first / manifests[0].source.tokenizer_file).string()));
  }
}

uint64_t content_of(const SplitEntry& entry) {
  Hasher content;
  for (const ShardEntry& shard : entry.shards) content.update(&shard.checksum, sizeof shard.checksum);
  return content.digest();
}

// Adds the counts of one directory.
void add_side(DatasetSide& side, const SideCounts& counts) {
  side.num_tokens += counts.tokens;
  side.num_unknown += counts.unknown;
  side.longest = std::max(side.longest, counts.longest);
}

}  // namespace

void check_sources(const std::vector<DatasetSource>& sources) {
  std::set<fs::path> seen;
  for (const DatasetSource& source : sources) {
    require<ConfigError>(!source.directory.empty(), "data: a dataset of `mixture` has no `directory`");
    require<ConfigError>(source.weight > 0 && std::isfinite(source.weight),
                         "data: the weight of {} is {}; it must be above 0", source.directory.string(), source.weight);
    const bool is_new = seen.insert((source.directory / "").lexically_normal()).second;
    require<ConfigError>(is_new, "data: {} is mixed with itself; name each directory once and give it the whole weight",
                         source.directory.string());
  }
}

std::vector<SplitOfSource> read_splits(const std::vector<DatasetSource>& sources, DataSplit split) {
  require<InternalError>(!sources.empty(), "a dataset without a directory");
  check_sources(sources);
  std::vector<Manifest> manifests;
  for (const DatasetSource& source : sources) manifests.push_back(read_manifest(source.directory));
  check_together(sources, manifests);
  std::vector<SplitOfSource> found;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (manifests[i].splits.contains(split)) {
      found.push_back({sources[i], manifests[i]});
      continue;
    }
    require<DataError>(split != DataSplit::Train, "{} has no split \"train\", only: {}", sources[i].directory.string(),
                       split_names({manifests[i]}));
  }
  require<DataError>(!found.empty(), "{} has no split \"{}\", only: {}", directory_names(sources), enum_name(split),
                     split_names(manifests));
  return found;
}

DatasetHeader header_of(const std::vector<SplitOfSource>& sources, DataSplit split) {
  const Manifest& first = sources.front().manifest;
  DatasetHeader header{.version = first.version,
                       .kind = first.kind,
                       .split = split,
                       .source = first.source,
                       .target = first.target,
                       .token_bytes = first.token_bytes,
                       .references = true};
  const bool pairs = has_two_sides(first.kind);
  for (const SplitOfSource& source : sources) {
    const SplitEntry& entry = source.entry(split);
    header.version = std::min(header.version, source.manifest.version);
    header.num_tokens += entry.source.tokens + entry.target.tokens;
    header.num_shards += static_cast<int64_t>(entry.shards.size());
    (pairs ? header.num_pairs : header.num_documents) += entry.records;
    header.references = header.references && entry.references;
    header.dropped_pairs += entry.dropped_empty + entry.dropped_long;
    header.truncated_pairs += entry.truncated;
    add_side(header.source, entry.source);
    add_side(header.target, pairs ? entry.target : entry.source);
  }
  return header;
}

std::vector<DatasetPart> parts_of(const std::vector<SplitOfSource>& sources, DataSplit split) {
  std::vector<DatasetPart> parts;
  int64_t tokens = 0;
  for (const SplitOfSource& source : sources) {
    const SplitEntry& entry = source.entry(split);
    parts.push_back({.directory = source.source.directory,
                     .weight = source.source.weight,
                     .first_token = tokens,
                     .num_tokens = entry.source.tokens + entry.target.tokens,
                     .num_records = entry.records,
                     .content = content_of(entry)});
    tokens += parts.back().num_tokens;
  }
  return parts;
}

}  // namespace weft
