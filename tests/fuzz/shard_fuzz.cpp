// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/shard_fuzz.h"

#include <array>
#include <cstring>

#include "base/error.h"
#include "base/hash.h"
#include "data/dataset/shard.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/text_of.h"

namespace weft::test {
namespace {

// The stated numbers before the content of the file.
struct Stated {
  uint8_t pairs, token_bytes, references;
  std::array<int64_t, 10> numbers;
  static constexpr size_t kBytes = 3 + sizeof numbers;

  static Stated from(std::string_view bytes) {
    Stated stated{static_cast<uint8_t>(bytes[0]), static_cast<uint8_t>(bytes[1]), static_cast<uint8_t>(bytes[2]), {}};
    std::memcpy(stated.numbers.data(), bytes.data() + 3, sizeof stated.numbers);
    return stated;
  }
  // With the checksum of its one block, if it lies in the file.
  ShardTokens array(size_t i, uint64_t width, std::string_view file) const {
    ShardTokens tokens{.count = numbers[1 + 3 * i],
                       .offset = static_cast<uint64_t>(numbers[2 + 3 * i]),
                       .index = static_cast<uint64_t>(numbers[3 + 3 * i])};
    const uint64_t room = tokens.offset <= file.size() ? (file.size() - tokens.offset) / width : 0;
    if (tokens.count <= 0 || static_cast<uint64_t>(tokens.count) > room) return tokens;
    const std::string_view bytes = file.substr(tokens.offset, static_cast<uint64_t>(tokens.count) * width);
    for (size_t at = 0; at < bytes.size(); at += kChecksumBlockBytes) {
      tokens.checksums.push_back(hash64(bytes.substr(at, kChecksumBlockBytes)));
    }
    return tokens;
  }
  // As a manifest says it, with one shard.
  Manifest manifest(std::string_view file) const {
    const DatasetSide side{.vocabulary = 1000, .tokenizer_file = "tokenizer.json"};
    Manifest manifest{.kind = pairs != 0 ? DatasetKind::Pairs : DatasetKind::Stream,
                      .token_bytes = token_bytes,
                      .source = side,
                      .target = side};
    ShardEntry shard{.file = "test-00000.h5", .bytes = file.size(), .records = numbers[0]};
    shard.source = array(0, token_bytes, file);
    if (pairs != 0) shard.target = array(1, token_bytes, file);
    if (references != 0) shard.references = array(2, 1, file);
    manifest.splits[DataSplit::Test] = {.records = shard.records,
                                        .references = references != 0,
                                        .source = {.tokens = shard.source.count},
                                        .target = {.tokens = shard.target.count},
                                        .shards = {shard}};
    return manifest;
  }
};

void read_range(const Shard& shard, Shard::TokenRange range, bool target) {
  std::vector<int32_t> ids(static_cast<size_t>(range.end - range.begin));
  target ? shard.read_target(range.begin, ids) : shard.read_source(range.begin, ids);
  for (const int32_t id : ids) require<InternalError>(id >= 0 && id < 1000, "an id beyond the vocabulary");
}

void read_all(const Shard& shard, const ShardIdentity& identity) {
  const ShardEntry& entry = shard.entry();
  if (!has_two_sides(identity.kind)) {
    read_range(shard, {.begin = 0, .end = entry.source.count}, false);
    for (int64_t i = 0; i < entry.records; ++i) shard.document_begin(i);
    return;
  }
  std::vector<int32_t> source, target;
  shard.append_lengths(source, target);
  for (int64_t i = 0; i < entry.records; ++i) {
    read_range(shard, shard.source_range(i), false);
    read_range(shard, shard.target_range(i), true);
    if (identity.references) shard.read_reference(i);
  }
}

}  // namespace

bool reads_shard(std::span<const uint8_t> bytes) {
  if (bytes.size() < Stated::kBytes) return false;
  const MemoryFile memory(bytes.subspan(Stated::kBytes));
  const std::string_view file = text_of(bytes.subspan(Stated::kBytes));
  const Stated stated = Stated::from(text_of(bytes));
  if (stated.token_bytes != 2 && stated.token_bytes != 4) return false;
  try {
    const Manifest manifest = parse_manifest(manifest_text(stated.manifest(file)), "dataset.json");
    ShardEntry entry = manifest.splits.at(DataSplit::Test).shards.at(0);
    const ShardIdentity identity = identity_of(manifest, DataSplit::Test);
    entry.structure_checksum = structure_checksum(File(memory.path(), File::Mode::Read), entry, stated.token_bytes);
    read_all(Shard(memory.path(), entry, identity), identity);
    return true;
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace weft::test
