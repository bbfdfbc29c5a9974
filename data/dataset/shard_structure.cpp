// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/shard_structure.h"

#include <algorithm>

#include "base/error.h"

namespace weft {

namespace {
constexpr const char* kShardFormat = "weft dataset shard";
}

std::vector<std::pair<std::string, int64_t>> stated_numbers(const ShardIdentity& identity, const ShardEntry& entry) {
  std::vector<std::pair<std::string, int64_t>> numbers = {{"format_version", identity.version},
                                                          {"token_bytes", identity.token_bytes},
                                                          {"num_source_tokens", entry.source.count}};
  const bool pairs = has_two_sides(identity.kind);
  numbers.emplace_back(pairs ? "num_pairs" : "num_documents", entry.records);
  if (pairs) numbers.emplace_back("num_target_tokens", entry.target.count);
  if (identity.references) numbers.emplace_back("num_reference_bytes", entry.references.count);
  const auto add_side = [&](const std::string& name, const DatasetSide& side) {
    numbers.emplace_back(name + "_vocabulary", side.vocabulary);
    numbers.emplace_back(name + "_bos", side.bos.value_or(-1));
    numbers.emplace_back(name + "_eos", side.eos.value_or(-1));
    numbers.emplace_back(name + "_pad", side.pad.value_or(-1));
    numbers.emplace_back(name + "_unk", side.unk.value_or(-1));
  };
  add_side("source", identity.source);
  if (pairs) add_side("target", identity.target);
  return numbers;
}

std::vector<std::pair<std::string, std::string>> stated_texts(const ShardIdentity& identity) {
  const bool pairs = has_two_sides(identity.kind);
  std::vector<std::pair<std::string, std::string>> texts = {
      {"format", kShardFormat},
      {"kind", std::string(enum_name(identity.kind))},
      {"split", std::string(enum_name(identity.split))},
      {"source_tokenizer_hash", hash_hex(identity.source.tokenizer_hash)}};
  if (pairs) texts.emplace_back("target_tokenizer_hash", hash_hex(identity.target.tokenizer_hash));
  return texts;
}

Hdf5Type token_type(int token_bytes) { return token_bytes == 2 ? Hdf5Type::U16 : Hdf5Type::U32; }

ShardIndices indices_by_hdf5(const fs::path& path, const ShardEntry& entry, const ShardIdentity& identity) {
  const Hdf5File file = Hdf5File::open(path);
  for (const auto& [name, value] : stated_texts(identity)) {
    const std::string found = file.string_attribute("/", name);
    require<DataError>(found == value, "{}: {} is \"{}\", but the manifest says \"{}\"", path.string(), name, found,
                       value);
  }
  for (const auto& [name, value] : stated_numbers(identity, entry)) {
    const int64_t found = file.int_attribute("/", name);
    require<DataError>(found == value, "{}: {} is {}, but the manifest says {}", path.string(), name, found, value);
  }
  const auto place = [&](const std::string& name, Hdf5Type type, int64_t count) {
    const Hdf5Array array = file.array(name);
    require<DataError>(array.type == type && array.shape == std::vector<int64_t>{count},
                       "{}: array {} is not of {} elements of {} bytes", path.string(), name, count,
                       element_bytes(type));
    return array.offset;
  };
  const auto check_elements = [&](const std::string& name, Hdf5Type type, const ShardTokens& tokens) {
    const uint64_t offset = place(name, type, tokens.count);
    require<DataError>(tokens.count == 0 || offset == tokens.offset, "{}: array {} is at byte {}, not {}",
                       path.string(), name, offset, tokens.offset);
  };
  const bool pairs = has_two_sides(identity.kind);
  const Hdf5Type ids = token_type(identity.token_bytes);
  check_elements(pairs ? kSourceTokens : kStreamTokens, ids, entry.source);
  if (!pairs) return {.source = place(kStreamDocuments, Hdf5Type::U64, entry.records)};
  check_elements(kTargetTokens, ids, entry.target);
  ShardIndices indices{.source = place(kSourceOffsets, Hdf5Type::U64, entry.records + 1),
                       .target = place(kTargetOffsets, Hdf5Type::U64, entry.records + 1)};
  if (!identity.references) return indices;
  check_elements(kReferences, Hdf5Type::U8, entry.references);
  indices.references = place(kReferenceOffsets, Hdf5Type::U64, entry.records + 1);
  return indices;
}

void check_hdf5(const fs::path& path, const ShardEntry& entry, const ShardIdentity& identity) {
  const ShardIndices found = indices_by_hdf5(path, entry, identity);
  if (identity.version < kFirstPlacedVersion) return;
  const ShardIndices stated{entry.source.index, entry.target.index, entry.references.index};
  require<DataError>(found == stated,
                     "{}: HDF5 finds its indices at bytes {}, {} and {}, the manifest at {}, {} and {}", path.string(),
                     found.source, found.target, found.references, stated.source, stated.target, stated.references);
}

bool may_be_shard(const fs::path& path) {
  constexpr std::string_view kHdf5 = "\x89HDF\r\n\x1a\n";
  constexpr uint64_t kStructure = 8192;  // the attributes of `/` are in the first bytes
  const File file(path, File::Mode::Read);
  std::string begin(std::min(file.size(), kStructure), '\0');
  file.read_at(0, begin.data(), begin.size());
  return begin.starts_with(kHdf5) && begin.find(kShardFormat) != std::string::npos;
}

void hash_range(const File& file, uint64_t begin, uint64_t end, Hasher& hasher) {
  std::vector<char> piece(std::min<uint64_t>(end - begin, uint64_t{1} << 20));
  while (begin < end) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(end - begin, piece.size()));
    file.read_at(begin, piece.data(), n);
    hasher.update(piece.data(), n);
    begin += n;
  }
}

}  // namespace weft
