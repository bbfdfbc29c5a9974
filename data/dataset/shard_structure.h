// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/hdf5.h"
#include "data/dataset/shard.h"

// The structure of shard files, for their writer and their reader.
namespace weft {

// Paths of the arrays in a shard.
inline constexpr const char* kStreamTokens = "/tokens";
inline constexpr const char* kStreamDocuments = "/documents";
inline constexpr const char* kSourceTokens = "/source/tokens";
inline constexpr const char* kSourceOffsets = "/source/offsets";
inline constexpr const char* kTargetTokens = "/target/tokens";
inline constexpr const char* kTargetOffsets = "/target/offsets";
inline constexpr const char* kReferences = "/target/references";
inline constexpr const char* kReferenceOffsets = "/target/reference_offsets";

// Attributes of the root group, as name and value.
std::vector<std::pair<std::string, int64_t>> stated_numbers(const ShardIdentity& identity, const ShardEntry& entry);
std::vector<std::pair<std::string, std::string>> stated_texts(const ShardIdentity& identity);

Hdf5Type token_type(int token_bytes);

// Where the index of each array begins, as HDF5 says; 0 for one that the shard lacks. DataError unless the attributes
// and arrays of the file are those that the manifest states.
struct ShardIndices {
  uint64_t source = 0, target = 0, references = 0;
  bool operator==(const ShardIndices&) const = default;
};
ShardIndices indices_by_hdf5(const fs::path& path, const ShardEntry& entry, const ShardIdentity& identity);

// DataError unless HDF5 finds in the file what the manifest states, at the same bytes.
void check_hdf5(const fs::path& path, const ShardEntry& entry, const ShardIdentity& identity);

// True if the file begins as a shard that weft wrote, however damaged the rest is. False for another program's file.
bool may_be_shard(const fs::path& path);

// Hashes bytes [begin, end) of a file in pieces, so that no shard has to fit into memory.
void hash_range(const File& file, uint64_t begin, uint64_t end, Hasher& hasher);

}  // namespace weft
