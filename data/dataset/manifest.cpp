// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/manifest.h"

#include <fmt/ranges.h>

#include <charconv>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"

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

Json to_json(const ShardTokens& tokens) { return {{"count", tokens.count}, {"offset", tokens.offset}}; }

// Counts of a split that are written only if they are not 0.
constexpr std::pair<const char*, int64_t SplitEntry::*> kRareCounts[] = {
    {"invalid_utf8", &SplitEntry::invalid_utf8},
    {"duplicates", &SplitEntry::duplicates},
    {"in_train", &SplitEntry::in_train},
    {"dropped_duplicate", &SplitEntry::dropped_duplicate},
};

Json to_json(const SplitEntry& split, bool pairs) {
  Json shards = Json::array();
  for (const ShardEntry& shard : split.shards) {
    Json json = {{"file", shard.file},
                 {"bytes", shard.bytes},
                 {"checksum", hash_hex(shard.checksum)},
                 {"structure_checksum", hash_hex(shard.structure_checksum)},
                 {"records", shard.records},
                 {"source", to_json(shard.source)}};
    if (pairs) json["target"] = to_json(shard.target);
    if (split.references) json["references"] = to_json(shard.references);
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
  for (const auto& [split, entry] : manifest.splits) json["splits"][enum_name(split)] = to_json(entry, pairs);
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

// A value of the manifest and its place, for messages.
class Node {
 public:
  Node(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  Node at(const std::string& key) const {
    require<DataError>(json_.is_object() && json_.contains(key), "{} has no \"{}\"", where_, key);
    return {json_.at(key), where_ + ": " + key};
  }
  bool has(const std::string& key) const { return json_.is_object() && json_.contains(key); }
  std::vector<Node> items() const {
    require<DataError>(json_.is_array(), "{} is no list", where_);
    std::vector<Node> nodes;
    for (const Json& item : json_) nodes.emplace_back(item, fmt::format("{}[{}]", where_, nodes.size()));
    return nodes;
  }
  std::vector<std::pair<std::string, Node>> members() const {
    require<DataError>(json_.is_object(), "{} is no object", where_);
    std::vector<std::pair<std::string, Node>> nodes;
    for (const auto& [key, value] : json_.items()) nodes.emplace_back(key, Node(value, where_ + ": " + key));
    return nodes;
  }
  bool flag() const {
    require<DataError>(json_.is_boolean(), "{} is neither true nor false", where_);
    return json_.get<bool>();
  }
  int64_t count(int64_t most = int64_t{1} << 60) const {
    const bool fits = json_.is_number_unsigned() && json_.get<uint64_t>() <= static_cast<uint64_t>(most);
    require<DataError>(fits, "{} is {}, not a number from 0 to {}", where_, json_excerpt(json_), most);
    return json_.get<int64_t>();
  }
  double number() const {
    require<DataError>(json_.is_number(), "{} is no number", where_);
    return json_.get<double>();
  }
  std::string text() const {
    require<DataError>(json_.is_string(), "{} is no string", where_);
    return json_.get<std::string>();
  }
  uint64_t checksum() const {
    const std::string digits = text();
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    require<DataError>(error == std::errc{} && digits.size() == 16 && end == digits.data() + 16,
                       "{} is no checksum of 16 hexadecimal digits", where_);
    return value;
  }
  std::string file_name() const {
    const std::string name = text();
    require<DataError>(!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
                           name.find('\0') == std::string::npos,
                       "{} is no file name", where_);
    return name;
  }
  const std::string& where() const { return where_; }

 private:
  const Json& json_;
  std::string where_;
};

// The value of an enum that a manifest names.
template <NamedEnum E>
E value_named(const std::string& name, const std::string& where) {
  std::vector<std::string_view> names;
  for (const auto& [known, value] : EnumNames<E>::kNames) {
    if (known == name) return value;
    names.push_back(known);
  }
  throw DataError(fmt::format("{}: \"{}\" is not one of {}", where, name, fmt::join(names, ", ")));
}

DatasetSide parse_side(const Node& node) {
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

SideCounts parse_counts(const Node& node) {
  return {.tokens = node.at("tokens").count(),
          .longest = node.at("longest").count(INT32_MAX),
          .unknown = node.at("unknown").count(),
          .text_tokens = node.at("text_tokens").count(),
          .text_bytes = node.has("text_bytes") ? node.at("text_bytes").count() : 0,
          .entropy = node.at("entropy").number()};
}

ShardTokens parse_tokens(const Node& node, uint64_t file_bytes, int token_bytes) {
  const ShardTokens tokens{.count = node.at("count").count(),
                           .offset = static_cast<uint64_t>(node.at("offset").count())};
  const bool inside =
      tokens.offset <= file_bytes &&
      static_cast<uint64_t>(tokens.count) <= (file_bytes - tokens.offset) / static_cast<unsigned>(token_bytes);
  require<DataError>(inside, "{}: {} tokens at byte {} leave a file of {} bytes", node.where(), tokens.count,
                     tokens.offset, file_bytes);
  return tokens;
}

SplitEntry parse_split(const Node& node, bool pairs, int token_bytes) {
  SplitEntry split{.records = node.at("records").count(),
                   .dropped_empty = node.at("dropped_empty").count(),
                   .dropped_long = node.at("dropped_long").count(),
                   .truncated = node.at("truncated").count(),
                   .references = node.has("references") && node.at("references").flag(),
                   .source = parse_counts(node.at("source"))};
  if (pairs) split.target = parse_counts(node.at("target"));
  require<DataError>(pairs || !split.references, "{}: only pairs have references", node.where());
  for (const auto& [name, count] : kRareCounts) {
    if (node.has(name)) split.*count = node.at(name).count();
  }
  int64_t records = 0, source = 0, target = 0;
  for (const Node& item : node.at("shards").items()) {
    ShardEntry shard{.file = item.at("file").file_name(),
                     .bytes = static_cast<uint64_t>(item.at("bytes").count()),
                     .checksum = item.at("checksum").checksum(),
                     .structure_checksum = item.at("structure_checksum").checksum(),
                     .records = item.at("records").count()};
    shard.source = parse_tokens(item.at("source"), shard.bytes, token_bytes);
    if (pairs) shard.target = parse_tokens(item.at("target"), shard.bytes, token_bytes);
    if (split.references) shard.references = parse_tokens(item.at("references"), shard.bytes, 1);
    require<DataError>(static_cast<uint64_t>(shard.records) <= shard.bytes / sizeof(uint64_t),
                       "{}: {} records are more than a file of {} bytes has room for", item.where(), shard.records,
                       shard.bytes);
    records += shard.records, source += shard.source.count, target += shard.target.count;
    split.shards.push_back(std::move(shard));
  }
  require<DataError>(records == split.records && source == split.source.tokens && target == split.target.tokens,
                     "{}: the shards hold {} records and {} + {} tokens, not the {} and {} + {} that are stated",
                     node.where(), records, source, target, split.records, split.source.tokens, split.target.tokens);
  return split;
}

Manifest parse(const Json& json, const std::string& where) {
  const Node root(json, where);
  Manifest manifest;
  manifest.kind = value_named<DatasetKind>(root.at("kind").text(), root.at("kind").where());
  const bool pairs = has_two_sides(manifest.kind);
  manifest.token_bytes = static_cast<int>(root.at("token_bytes").count(4));
  require<DataError>(manifest.token_bytes == 2 || manifest.token_bytes == 4, "{}: token_bytes is {}, not 2 or 4", where,
                     manifest.token_bytes);
  manifest.source = parse_side(root.at("source"));
  manifest.target = pairs ? parse_side(root.at("target")) : manifest.source;
  const Node splits = root.at("splits");
  for (const auto& [name, node] : splits.members()) {
    manifest.splits.emplace(value_named<DataSplit>(name, splits.where()),
                            parse_split(node, pairs, manifest.token_bytes));
  }
  for (const Node& item : root.at("inputs").items()) {
    manifest.inputs.push_back({.role = item.has("role") ? item.at("role").text() : "",
                               .path = item.at("path").text(),
                               .bytes = static_cast<uint64_t>(item.at("bytes").count()),
                               .modified = item.at("modified").count(INT64_MAX),
                               .checksum = item.at("checksum").checksum()});
  }
  if (root.has("skipped")) {
    const Node skipped = root.at("skipped");
    for (const auto& [reason, n] : skipped.at("reasons").members()) manifest.skipped.reasons[reason] = n.count();
    for (const Node& item : skipped.at("first").items()) manifest.skipped.first.push_back(item.text());
  }
  for (const auto& [name, node] : root.at("settings").members()) manifest.settings.emplace(name, node.text());
  return manifest;
}

}  // namespace

bool holds_references(DatasetKind kind, DataSplit split) {
  return kind == DatasetKind::Pairs && split != DataSplit::Train;
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
  const Node root(json, where);
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
  Manifest manifest = parse(json, where);
  manifest.version = static_cast<int>(version);
  return manifest;
}

}  // namespace weft
