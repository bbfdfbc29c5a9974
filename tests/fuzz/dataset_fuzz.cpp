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

// A reader follows these offsets without a further check: the array must lie within the file's stated size.
void check_inside(const ShardEntry& shard, const ShardTokens& array, int width) {
  const uint64_t bytes = static_cast<uint64_t>(array.count) * static_cast<uint64_t>(width);
  require<InternalError>(array.offset <= shard.bytes && bytes <= shard.bytes - array.offset,
                         "an array leaves its file");
}

}  // namespace

bool reads_dataset(std::span<const uint8_t> bytes) {
  try {
    const std::string_view body = text_of(bytes);
    const Manifest manifest = parse_manifest(manifest_of(body), "dataset.json");
    for (const auto& [name, split] : manifest.splits) {
      for (const ShardEntry& shard : split.shards) {
        check_inside(shard, shard.source, manifest.token_bytes);
        check_inside(shard, shard.target, manifest.token_bytes);
        check_inside(shard, shard.references, 1);
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
