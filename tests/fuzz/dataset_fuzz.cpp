// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/dataset_fuzz.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "data/dataset/manifest.h"
#include "tests/fuzz/text_of.h"

namespace weft::test {
namespace {

using Json = nlohmann::json;

std::string printed(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

// The manifest with the checksum that its reader requires, which no fuzzer finds.
std::string manifest_of(std::string_view body) {
  Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return std::string(body);
  json.erase("checksum");
  json = Json::parse(printed(json));  // parsed again, as a reader does
  json["checksum"] = hash_hex(hash64(printed(json)));
  return printed(json);
}

// A reader follows these offsets without a further check: the array and its index must lie within the file's stated
// size, and each block must have a checksum.
void check_inside(const Manifest& manifest, const ShardEntry& shard, const ShardTokens& array, int width) {
  const auto inside = [&](uint64_t offset, int64_t count, uint64_t element) {
    const uint64_t bytes = static_cast<uint64_t>(count) * element;
    return offset <= shard.bytes && bytes <= shard.bytes - offset;
  };
  require<InternalError>(inside(array.offset, array.count, static_cast<uint64_t>(width)), "an array leaves its file");
  if (manifest.version < kFirstPlacedVersion) return;
  const int64_t entries = shard.records + (has_two_sides(manifest.kind) ? 1 : 0);
  require<InternalError>(inside(array.index, entries, sizeof(uint64_t)), "an index leaves its file");
  const uint64_t covered = array.checksums.size() * kChecksumBlockBytes;
  require<InternalError>(covered >= static_cast<uint64_t>(array.count) * static_cast<uint64_t>(width),
                         "a block without a checksum");
}

}  // namespace

bool reads_dataset(std::span<const uint8_t> bytes) {
  try {
    const std::string_view body = text_of(bytes);
    const Manifest manifest = parse_manifest(manifest_of(body), "dataset.json");
    for (const auto& [name, split] : manifest.splits) {
      for (const ShardEntry& shard : split.shards) {
        check_inside(manifest, shard, shard.source, manifest.token_bytes);
        if (has_two_sides(manifest.kind)) check_inside(manifest, shard, shard.target, manifest.token_bytes);
        if (split.references) check_inside(manifest, shard, shard.references, 1);
      }
    }
    const std::string again = manifest_text(manifest);
    require<InternalError>(manifest_text(parse_manifest(again, "dataset.json")) == again,
                           "a manifest is not read as it was written");
    return true;
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace weft::test
