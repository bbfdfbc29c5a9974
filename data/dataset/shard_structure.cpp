// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/shard_structure.h"

#include <algorithm>

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
