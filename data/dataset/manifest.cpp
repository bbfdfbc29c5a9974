// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/manifest.h"

#include "base/config/value_named.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "data/dataset/manifest_node.h"

namespace weft {

namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "weft dataset";

Json to_json(const DatasetSide& side) {
  Json json = {{"tokenizer_file", side.tokenizer_file},
               {"tokenizer_hash", hash_hex(side.tokenizer_hash)},
               {"vocabulary", side.vocabulary}};
  const auto add = [&](const char* role, const std::optional<int32_t>& id) {
    if (id) json[role] = *id;
  };
  add("bos", side.bos), add("eos", side.eos), add("pad", side.pad), add("unk", side.unk);
  return json;
}

Json to_json(const SideCounts& counts) {
  return {{"tokens", counts.tokens},           {"longest", counts.longest},       {"unknown", counts.unknown},
          {"text_tokens", counts.text_tokens}, {"text_bytes", counts.text_bytes}, {"entropy", counts.entropy}};
}

Json to_json(const ShardTokens& tokens, int version) {
  Json json = {{"count", tokens.count}, {"offset", tokens.offset}};
  if (version < kFirstPlacedVersion) return json;
  json["index"] = tokens.index;
  json["checksums"] = Json::array();
  for (const uint64_t checksum : tokens.checksums) json["checksums"].push_back(hash_hex(checksum));
  return json;
}

// Counts of a split that are written only if they are not 0.
constexpr std::pair<const char*, int64_t SplitEntry::*> kRareCounts[] = {
    {"invalid_utf8", &SplitEntry::invalid_utf8},
    {"duplicates", &SplitEntry::duplicates},
    {"in_train", &SplitEntry::in_train},
    {"dropped_duplicate", &SplitEntry::dropped_duplicate},
};

Json to_json(const SplitEntry& split, bool pairs, int version) {
  Json shards = Json::array();
  for (const ShardEntry& shard : split.shards) {
    Json json = {{"file", shard.file},
                 {"bytes", shard.bytes},
                 {"checksum", hash_hex(shard.checksum)},
                 {"structure_checksum", hash_hex(shard.structure_checksum)},
                 {"records", shard.records},
                 {"source", to_json(shard.source, version)}};
    if (pairs) json["target"] = to_json(shard.target, version);
    if (split.references) json["references"] = to_json(shard.references, version);
    shards.push_back(std::move(json));
  }
  Json json = {{"records", split.records},           {"dropped_empty", split.dropped_empty},
               {"dropped_long", split.dropped_long}, {"truncated", split.truncated},
               {"source", to_json(split.source)},    {"shards", std::move(shards)},
               {"references", split.references}};
  if (pairs) json["target"] = to_json(split.target);
  for (const auto& [name, count] : kRareCounts) {
    if (split.*count > 0) json[name] = split.*count;
  }
  return json;
}

Json to_json(const Manifest& manifest) {
  const bool pairs = has_two_sides(manifest.kind);
  Json json = {{"format", kFormat},
               {"version", manifest.version},
               {"kind", enum_name(manifest.kind)},
               {"token_bytes", manifest.token_bytes},
               {"source", to_json(manifest.source)},
               {"settings", manifest.settings}};
  if (pairs) json["target"] = to_json(manifest.target);
  for (const auto& [split, entry] : manifest.splits) {
    json["splits"][enum_name(split)] = to_json(entry, pairs, manifest.version);
  }
  if (manifest.skipped.count() > 0) {
    json["skipped"] = {{"reasons", manifest.skipped.reasons}, {"first", manifest.skipped.first}};
  }
  json["inputs"] = Json::array();
  for (const InputEntry& input : manifest.inputs) {
    json["inputs"].push_back({{"role", input.role},
                              {"path", input.path},
                              {"bytes", input.bytes},
                              {"modified", input.modified},
                              {"checksum", hash_hex(input.checksum)}});
  }
  return json;
}

std::string dump(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

DatasetSide parse_side(const ManifestNode& node) {
  DatasetSide side;
  side.tokenizer_file = node.at("tokenizer_file").file_name();
  side.tokenizer_hash = node.at("tokenizer_hash").checksum();
  side.vocabulary = node.at("vocabulary").count(int64_t{1} << 31);
  const auto role = [&](const char* name) -> std::optional<int32_t> {
    if (!node.has(name)) return {};
    return static_cast<int32_t>(node.at(name).count(side.vocabulary - 1));
  };
  side.bos = role("bos"), side.eos = role("eos"), side.pad = role("pad"), side.unk = role("unk");
  return side;
}

SideCounts parse_counts(const ManifestNode& node) {
  return {.tokens = node.at("tokens").count(),
          .longest = node.at("longest").count(INT32_MAX),
          .unknown = node.at("unknown").count(),
          .text_tokens = node.at("text_tokens").count(),
          .text_bytes = node.has("text_bytes") ? node.at("text_bytes").count() : 0,
          .entropy = node.at("entropy").number()};
}

// What decides how the arrays of a shard are stated.
struct ShardForm {
  int version;
  bool pairs;
  int token_bytes;
};

// True if an array of so many elements, which begins at this byte, lies in the file.
bool lies_within(uint64_t file_bytes, uint64_t offset, int64_t count, uint64_t width) {
  return offset <= file_bytes && static_cast<uint64_t>(count) <= (file_bytes - offset) / width;
}

// Index entries of so many records: pairs end with the end of the last one.
int64_t index_entries(int64_t records, bool pairs) { return records + (pairs ? 1 : 0); }

// Reads where the index is, and the checksums of the array.
void parse_placement(const ManifestNode& node, const ShardEntry& shard, bool pairs, uint64_t width,
                     ShardTokens& tokens) {
  tokens.index = static_cast<uint64_t>(node.at("index").count());
  require<DataError>(lies_within(shard.bytes, tokens.index, index_entries(shard.records, pairs), sizeof(uint64_t)),
                     "{}: the index of {} records at byte {} leaves a file of {} bytes", node.where(), shard.records,
                     tokens.index, shard.bytes);
  for (const ManifestNode& item : node.at("checksums").items()) tokens.checksums.push_back(item.checksum());
  const uint64_t bytes = static_cast<uint64_t>(tokens.count) * width;
  const uint64_t blocks = (bytes + kChecksumBlockBytes - 1) / kChecksumBlockBytes;
  require<DataError>(tokens.checksums.size() == blocks, "{}: {} checksums for {} blocks of {} bytes", node.where(),
                     tokens.checksums.size(), blocks, kChecksumBlockBytes);
}

ShardTokens parse_tokens(const ManifestNode& node, const ShardEntry& shard, const ShardForm& form, int width) {
  ShardTokens tokens{.count = node.at("count").count(), .offset = static_cast<uint64_t>(node.at("offset").count())};
  require<DataError>(lies_within(shard.bytes, tokens.offset, tokens.count, static_cast<uint64_t>(width)),
                     "{}: {} tokens at byte {} leave a file of {} bytes", node.where(), tokens.count, tokens.offset,
                     shard.bytes);
  if (form.version >= kFirstPlacedVersion) {
    parse_placement(node, shard, form.pairs, static_cast<uint64_t>(width), tokens);
  }
  return tokens;
}

ShardEntry parse_shard(const ManifestNode& node, const ShardForm& form, bool references) {
  ShardEntry shard{.file = node.at("file").file_name(),
                   .bytes = static_cast<uint64_t>(node.at("bytes").count()),
                   .checksum = node.at("checksum").checksum(),
                   .structure_checksum = node.at("structure_checksum").checksum(),
                   .records = node.at("records").count()};
  require<DataError>(static_cast<uint64_t>(shard.records) <= shard.bytes / sizeof(uint64_t),
                     "{}: {} records are more than a file of {} bytes has room for", node.where(), shard.records,
                     shard.bytes);
  shard.source = parse_tokens(node.at("source"), shard, form, form.token_bytes);
  if (form.pairs) shard.target = parse_tokens(node.at("target"), shard, form, form.token_bytes);
  if (references) shard.references = parse_tokens(node.at("references"), shard, form, 1);
  return shard;
}

SplitEntry parse_split(const ManifestNode& node, const ShardForm& form) {
  SplitEntry split{.records = node.at("records").count(),
                   .dropped_empty = node.at("dropped_empty").count(),
                   .dropped_long = node.at("dropped_long").count(),
                   .truncated = node.at("truncated").count(),
                   .references = node.has("references") && node.at("references").flag(),
                   .source = parse_counts(node.at("source"))};
  if (form.pairs) split.target = parse_counts(node.at("target"));
  require<DataError>(form.pairs || !split.references, "{}: only pairs have references", node.where());
  for (const auto& [name, count] : kRareCounts) {
    if (node.has(name)) split.*count = node.at(name).count();
  }
  int64_t records = 0, source = 0, target = 0;
  for (const ManifestNode& item : node.at("shards").items()) {
    ShardEntry shard = parse_shard(item, form, split.references);
    records += shard.records, source += shard.source.count, target += shard.target.count;
    split.shards.push_back(std::move(shard));
  }
  require<DataError>(records == split.records && source == split.source.tokens && target == split.target.tokens,
                     "{}: the shards hold {} records and {} + {} tokens, not the {} and {} + {} that are stated",
                     node.where(), records, source, target, split.records, split.source.tokens, split.target.tokens);
  return split;
}

Manifest parse(const Json& json, const std::string& where, int version) {
  const ManifestNode root(json, where);
  Manifest manifest{.version = version};
  manifest.kind = value_named<DatasetKind>(root.at("kind").text(), root.at("kind").where());
  const bool pairs = has_two_sides(manifest.kind);
  manifest.token_bytes = static_cast<int>(root.at("token_bytes").count(4));
  require<DataError>(manifest.token_bytes == 2 || manifest.token_bytes == 4, "{}: token_bytes is {}, not 2 or 4", where,
                     manifest.token_bytes);
  manifest.source = parse_side(root.at("source"));
  manifest.target = pairs ? parse_side(root.at("target")) : manifest.source;
  const ManifestNode splits = root.at("splits");
  for (const auto& [name, node] : splits.members()) {
    manifest.splits.emplace(
        value_named<DataSplit>(name, splits.where()),
        parse_split(node, {.version = version, .pairs = pairs, .token_bytes = manifest.token_bytes}));
  }
  for (const ManifestNode& item : root.at("inputs").items()) {
    manifest.inputs.push_back({.role = item.has("role") ? item.at("role").text() : "",
                               .path = item.at("path").text(),
                               .bytes = static_cast<uint64_t>(item.at("bytes").count()),
                               .modified = item.at("modified").count(INT64_MAX),
                               .checksum = item.at("checksum").checksum()});
  }
  if (root.has("skipped")) {
    const ManifestNode skipped = root.at("skipped");
    for (const auto& [reason, n] : skipped.at("reasons").members()) manifest.skipped.reasons[reason] = n.count();
    for (const ManifestNode& item : skipped.at("first").items()) manifest.skipped.first.push_back(item.text());
  }
  for (const auto& [name, node] : root.at("settings").members()) manifest.settings.emplace(name, node.text());
  return manifest;
}

}  // namespace

bool holds_references(DatasetKind kind, DataSplit split) {
  return kind == DatasetKind::Chats || (kind == DatasetKind::Pairs && split != DataSplit::Train);
}

std::set<std::string> files_of(const Manifest& manifest) {
  std::set<std::string> names = {manifest.source.tokenizer_file, manifest.target.tokenizer_file};
  for (const auto& [name, split] : manifest.splits) {
    for (const ShardEntry& shard : split.shards) names.insert(shard.file);
  }
  return names;
}

std::string manifest_text(const Manifest& manifest) {
  Json json = to_json(manifest);
  const std::string body = dump(json);
  json = parse_json(body, std::string(kManifestName));  // parsed back, so that its dump equals a reader's
  json["checksum"] = hash_hex(hash64(dump(json)));
  return dump(json);
}

bool may_be_manifest(std::string_view text) {
  constexpr size_t kBeginning = 100;
  return text.substr(0, kBeginning).find(fmt::format("\"format\": \"{}\"", kFormat)) != std::string_view::npos;
}

Manifest read_manifest(const fs::path& directory) {
  const fs::path path = directory / kManifestName;
  if (!fs::exists(path)) {
    throw DataError(fmt::format("{} holds no prepared dataset: there is no {}", directory.string(), kManifestName),
                    "run `weft prepare` with the job that names this directory");
  }
  return parse_manifest(read_file(path), path.string());
}

Manifest parse_manifest(std::string_view text, const std::string& where) {
  constexpr int kDepth = 16;  // a manifest has 7 levels
  const Json json = parse_json(text, where + " is damaged", kDepth);
  require<DataError>(json.is_object() && json.value("format", Json()) == kFormat, "{} is not a weft dataset", where);
  const ManifestNode root(json, where);
  const int64_t version = root.at("version").count();
  if (version < kFirstDatasetVersion || version > kDatasetVersion) {
    throw DataError(fmt::format("{} is of version {}; this weft reads versions {} to {}", where, version,
                                kFirstDatasetVersion, kDatasetVersion),
                    "prepare the dataset again, or use the weft that wrote it");
  }
  const uint64_t stated = root.at("checksum").checksum();
  Json body = json;
  body.erase("checksum");
  require<DataError>(hash64(dump(body)) == stated, "{} is damaged: its checksum does not fit its content", where);
  return parse(json, where, static_cast<int>(version));
}

}  // namespace weft
