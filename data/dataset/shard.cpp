// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/shard.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/hash.h"
#include "data/dataset/shard_structure.h"

namespace weft {

static_assert(std::endian::native == std::endian::little, "token arrays are read as they lie on disk");

namespace {

template <class T>
T load(const char* bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

// Widens the ids and returns the largest as unsigned, so that one comparison checks them all.
template <class T>
uint32_t widen(const char* from, std::span<int32_t> into) {
  uint32_t largest = 0;
  for (size_t i = 0; i < into.size(); ++i) {
    const uint32_t id = load<T>(from, static_cast<int64_t>(i));
    largest = std::max(largest, id);
    into[i] = static_cast<int32_t>(id);
  }
  return largest;
}

}  // namespace

ShardIdentity identity_of(const Manifest& manifest, DataSplit split) {
  return {.version = manifest.version,
          .kind = manifest.kind,
          .split = split,
          .token_bytes = manifest.token_bytes,
          .references = manifest.splits.at(split).references,
          .source = manifest.source,
          .target = manifest.target};
}

uint64_t structure_checksum(const File& file, const ShardEntry& entry, int token_bytes) {
  const auto width = static_cast<uint64_t>(token_bytes);
  ShardTokens first = entry.source, second = entry.target;
  if (second.offset < first.offset) std::swap(first, second);
  Hasher hasher;
  uint64_t at = 0;
  for (const ShardTokens& tokens : {first, second}) {
    if (tokens.count == 0) continue;
    require<DataError>(tokens.offset >= at, "{}: its token arrays overlap", entry.file);
    hash_range(file, at, tokens.offset, hasher);
    at = tokens.offset + static_cast<uint64_t>(tokens.count) * width;
  }
  const uint64_t end = file.size();
  require<DataError>(at <= end, "{}: its token arrays leave the file", entry.file);
  hash_range(file, at, end, hasher);
  return hasher.digest();
}

uint64_t file_checksum(const File& file) {
  Hasher hasher;
  hash_range(file, 0, file.size(), hasher);
  return hasher.digest();
}

Shard::Shard(const fs::path& path, const ShardEntry& entry, const ShardIdentity& identity)
    : path_(path),
      entry_(entry),
      token_bytes_(identity.token_bytes),
      source_vocabulary_(identity.source.vocabulary),
      target_vocabulary_(identity.target.vocabulary),
      file_(path, File::Mode::Read),
      source_(file_, entry_.source, token_bytes_),
      target_(file_, entry_.target, token_bytes_),
      references_(file_, entry_.references, 1) {
  const uint64_t bytes = file_.size();
  require<DataError>(bytes == entry.bytes, "{}: {} bytes, but the dataset's manifest says {}: truncated or not its own",
                     path.string(), bytes, entry.bytes);
  require<DataError>(structure_checksum(file_, entry, token_bytes_) == entry.structure_checksum,
                     "{} is damaged: its structure does not fit its checksum", path.string());
  if (identity.version >= kFirstPlacedVersion) return;
  const ShardIndices found = indices_by_hdf5(path_, entry_, identity);
  entry_.source.index = found.source, entry_.target.index = found.target, entry_.references.index = found.references;
}

// Narrow ids are read into the second half of `into` and widened in place, front to back: no write reaches an id that
// is still to be read.
void Shard::read(const CheckedArray& tokens, int64_t vocabulary, int64_t first, std::span<int32_t> into) const {
  const size_t bytes = into.size() * static_cast<size_t>(token_bytes_);
  char* at = reinterpret_cast<char*>(into.data()) + (into.size_bytes() - bytes);
  tokens.read(static_cast<uint64_t>(first) * static_cast<uint64_t>(token_bytes_), at, bytes);
  const uint32_t largest = token_bytes_ == 2 ? widen<uint16_t>(at, into) : widen<uint32_t>(at, into);
  if (into.empty() || largest < vocabulary) return;
  throw DataError(fmt::format("{} is damaged: id {} among tokens {} to {} is not below the vocabulary of {}",
                              path_.string(), largest, first, first + static_cast<int64_t>(into.size()), vocabulary));
}

void Shard::read_source(int64_t first, std::span<int32_t> into) const {
  read(source_, source_vocabulary_, first, into);
}

void Shard::read_target(int64_t first, std::span<int32_t> into) const {
  read(target_, target_vocabulary_, first, into);
}

std::string Shard::read_reference(int64_t pair) const {
  const TokenRange at = range(entry_.references, pair);
  std::string text(static_cast<size_t>(at.end - at.begin), '\0');
  references_.read(static_cast<uint64_t>(at.begin), text.data(), text.size());
  return text;
}

int64_t Shard::document_begin(int64_t i) const {
  uint64_t stored = 0;
  file_.read_at(entry_.source.index + static_cast<uint64_t>(i) * sizeof stored, &stored, sizeof stored);
  const auto begin = static_cast<int64_t>(stored);
  if (begin >= 0 && begin <= entry_.source.count) return begin;
  throw DataError(fmt::format("{} is damaged: document {} begins at token {} of {}", path_.string(), i, begin,
                              entry_.source.count));
}

Shard::TokenRange Shard::range(const ShardTokens& tokens, int64_t pair) const {
  std::array<uint64_t, 2> ends{};
  file_.read_at(tokens.index + static_cast<uint64_t>(pair) * sizeof ends[0], ends.data(), sizeof ends);
  return checked_range(ends[0], ends[1], tokens, pair);
}

Shard::TokenRange Shard::checked_range(uint64_t begin, uint64_t end, const ShardTokens& tokens, int64_t pair) const {
  const TokenRange range{.begin = static_cast<int64_t>(begin), .end = static_cast<int64_t>(end)};
  if (0 <= range.begin && range.begin <= range.end && range.end <= tokens.count && range.end - range.begin <= INT32_MAX)
    return range;
  throw DataError(fmt::format("{} is damaged: sequence {} is tokens {} to {} of {}", path_.string(), pair, range.begin,
                              range.end, tokens.count));
}

void Shard::append_lengths_of(const ShardTokens& tokens, std::vector<int32_t>& lengths) const {
  constexpr int64_t kPairsAtOnce = 1 << 16;
  std::vector<uint64_t> ends(static_cast<size_t>(std::min(kPairsAtOnce, entry_.records) + 1));
  for (int64_t first = 0; first < entry_.records; first += kPairsAtOnce) {
    const int64_t pairs = std::min(kPairsAtOnce, entry_.records - first);
    file_.read_at(tokens.index + static_cast<uint64_t>(first) * sizeof ends[0], ends.data(),
                  static_cast<size_t>(pairs + 1) * sizeof ends[0]);
    for (int64_t i = 0; i < pairs; ++i) {
      const TokenRange range = checked_range(ends[i], ends[i + 1], tokens, first + i);
      lengths.push_back(static_cast<int32_t>(range.end - range.begin));
    }
  }
}

void Shard::append_lengths(std::vector<int32_t>& source, std::vector<int32_t>& target) const {
  append_lengths_of(entry_.source, source);
  append_lengths_of(entry_.target, target);
}

}  // namespace weft
