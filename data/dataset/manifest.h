// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/dataset/dataset.h"
#include "data/text/bad_records.h"

namespace weft {

// dataset.json describes a prepared directory. It is written last, so that a directory without it holds no dataset
// (docs/formats.md "Dataset").
constexpr const char* kManifestName = "dataset.json";
constexpr int kDatasetVersion = 3;       // the version that this build writes
constexpr int kFirstDatasetVersion = 1;  // the oldest version that this build reads; it stores no reference texts
// Since this version the manifest places every array of a shard and has a checksum for each block of its bytes. A
// reader then needs no HDF5, whose library was not written for files of strangers.
constexpr int kFirstPlacedVersion = 3;
constexpr uint64_t kChecksumBlockBytes = uint64_t{1} << 20;
constexpr int64_t kMaxU16Vocabulary = 65536;

// The ids of one side in one shard, or its reference texts: a contiguous array in its file, and the index of its
// records. Bytes count from the beginning of the file.
struct ShardTokens {
  int64_t count = 0;
  uint64_t offset = 0;
  uint64_t index = 0;               // where the u64 index begins; 0 before kFirstPlacedVersion
  std::vector<uint64_t> checksums;  // hash64 of each kChecksumBlockBytes of the array; none before kFirstPlacedVersion

  template <class Archive>
  void archive(Archive& a) {
    a(count), a(offset), a(index), a(checksums);
  }
};

struct ShardEntry {
  std::string file;
  uint64_t bytes = 0;
  uint64_t checksum = 0;            // hash64 of the file
  uint64_t structure_checksum = 0;  // hash64 of the file without its token arrays
  int64_t records = 0;              // documents that begin in the shard, or pairs
  ShardTokens source;
  ShardTokens target;      // Pairs, Answers
  ShardTokens references;  // bytes of the reference texts, if the split holds them

  template <class Archive>
  void archive(Archive& a) {
    a(file), a(bytes), a(checksum), a(structure_checksum), a(records), a(source), a(target), a(references);
  }
};

// Counts of one side of one split. The entropy is that of single tokens without specials, in bits a token.
struct SideCounts {
  int64_t tokens = 0;
  int64_t longest = 0;  // pairs: tokens of the longest sequence
  int64_t unknown = 0;
  int64_t text_tokens = 0;  // tokens, without the specials that preparation added
  int64_t text_bytes = 0;   // bytes of the text in the input files, truncated sequences in full; 0 in version 1
  double entropy = 0;
};

struct SplitEntry {
  int64_t records = 0;
  int64_t dropped_empty = 0;  // pairs with a side without text
  int64_t dropped_long = 0;
  int64_t truncated = 0;
  bool references = false;        // shards hold the target's text of each pair
  int64_t invalid_utf8 = 0;       // records that are not valid UTF-8, kept byte for byte
  int64_t duplicates = 0;         // records equal to an earlier record of this split (data.duplicates)
  int64_t in_train = 0;           // held-out records that the training text holds too
  int64_t dropped_duplicate = 0;  // training records dropped because they equal an earlier or a held-out record
  SideCounts source;
  SideCounts target;
  std::vector<ShardEntry> shards;

  // The counts that are kept while records are taken; the other members are set at the end.
  template <class Archive>
  void archive(Archive& a) {
    a(records), a(dropped_empty), a(dropped_long), a(truncated), a(invalid_utf8);
  }
};

struct InputEntry {
  std::string role;  // key of the job that names the file: "data.train.files"; empty in datasets of earlier versions
  std::string path;
  uint64_t bytes = 0;
  int64_t modified = 0;  // nanoseconds since 1970
  uint64_t checksum = 0;
  bool operator==(const InputEntry&) const = default;
};

struct Manifest {
  int version = kDatasetVersion;
  DatasetKind kind = DatasetKind::Stream;
  int token_bytes = 2;
  DatasetSide source;  // num_tokens, num_unknown and longest are unset: each SplitEntry counts its sides
  DatasetSide target;
  std::map<DataSplit, SplitEntry> splits;
  SkippedRecords skipped;
  std::vector<InputEntry> inputs;
  std::map<std::string, std::string> settings;  // "data.format": "text", ...
};

// True if the shards of the split store a text beside each record: the targets' texts, to score translations with
// (held-out Pairs), or the turns of conversations (Chats, numbers with blanks between them).
bool holds_references(DatasetKind kind, DataSplit split);

std::set<std::string> files_of(const Manifest& manifest);  // shards and tokenizers
std::string manifest_text(const Manifest& manifest);
// DataError if the manifest is absent, damaged, of another format or a later version, or states an impossible value.
Manifest read_manifest(const fs::path& directory);
Manifest parse_manifest(std::string_view text, const std::string& where);
// True if weft wrote the beginning of this text, however damaged the rest is. False for another program's file.
bool may_be_manifest(std::string_view text);

}  // namespace weft
