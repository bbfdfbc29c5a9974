// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/config/fields.h"
#include "base/files.h"
#include "data/dataset/data_split.h"

namespace weft {

class Tokenizer;

// Whether `directory` holds a prepared dataset: its manifest, which is written last, exists.
bool is_prepared(const fs::path& directory);

enum class DatasetKind {
  Stream,   // documents end to end, for language models
  Pairs,    // source and target sequences, for translation
  Answers,  // prompt (source) and answer (target), for a language model that reads one after the other
  Chats,    // context (source) and what is learnt (target) of a conversation, which a language model reads in turns
};
template <>
struct EnumNames<DatasetKind> {
  static constexpr auto kNames = enum_names<DatasetKind>("stream", "pairs", "answers", "chats");
};
constexpr bool has_two_sides(DatasetKind kind) { return kind != DatasetKind::Stream; }
// Whether a language model reads both sides as one sequence, of which it learns the target.
constexpr bool is_joined(DatasetKind kind) { return kind == DatasetKind::Answers || kind == DatasetKind::Chats; }

// The vocabulary and the special ids of one side.
struct DatasetSide {
  uint64_t tokenizer_hash = 0;
  int64_t vocabulary = 0;  // every id is in [0, vocabulary)
  std::optional<int32_t> bos, eos, pad, unk;
  int64_t num_tokens = 0;      // tokens in this split, special tokens included
  int64_t num_unknown = 0;     // unk tokens in this split, each for text that the tokenizer does not cover
  int64_t longest = 0;         // not Stream: tokens in the longest sequence
  std::string tokenizer_file;  // path relative to the dataset's directory
};

// One split, as its manifest and its shards state it. The counts of several directories are added up.
struct DatasetHeader {
  int version = 0;  // lowest format version of the directories
  DatasetKind kind = DatasetKind::Stream;
  DataSplit split = DataSplit::Train;
  DatasetSide source;         // Stream: the only side
  DatasetSide target;         // Stream: equal to source
  int token_bytes = 0;        // on disk: 2 (unsigned, both vocabularies at most 65536) or 4
  int64_t num_tokens = 0;     // both sides together
  int64_t num_documents = 0;  // Stream
  int64_t num_pairs = 0;      // not Stream
  int64_t num_shards = 0;
  bool references = false;      // Pairs: every directory stores the text of each target; Chats: the turns
  int64_t dropped_pairs = 0;    // pairs that preparation dropped
  int64_t truncated_pairs = 0;  // pairs that lost text in preparation
};

// A prepared directory, and its weight if several are mixed (data/batches/mixture.h).
struct DatasetSource {
  fs::path directory;
  double weight = 1;
};

// ConfigError unless every directory is named once (a dataset that is named twice would have two orders) and every
// weight is above 0. Touches no file.
void check_sources(const std::vector<DatasetSource>& sources);

// The part of a dataset that comes from one directory: a range of the dataset's tokens, and a number of records.
struct DatasetPart {
  fs::path directory;
  double weight = 1;
  int64_t first_token = 0, num_tokens = 0;  // both sides together
  int64_t num_records = 0;
  uint64_t content = 0;  // hash of the shards' checksums in order: changes with the text, the split or the order
};

// The shards that one of several readers checks on opening: part, part + of, part + 2 of, ...
struct ShardShare {
  int64_t part = 0;
  int64_t of = 1;  // 0: no shard is checked
  static ShardShare none() { return {0, 0}; }
};

// One split of a prepared directory (docs/formats.md "Dataset"), or the splits of several directories one after the
// other as one dataset. It is read-only: any number of processes may read it at once; it locks and writes no file.
// The size of a shard and the checksum of everything but its tokens are checked for a share of the shards on opening,
// for the others on their first read; tokens are checked a mebibyte at a time, when something of it is first read. At
// most 64 shards are open. verify_dataset() reads every byte. Every method may be called from many threads at once. A
// bad argument is an InternalError; damage is a DataError that names the file.
//
// Pairs are stored as the model reads them: the source with the special tokens that preparation added, the target as
// bos, text, eos, so that n + 1 tokens give n decoder inputs and n labels. Answers are text, eos; prompts are text. Of
// a conversation the tokens that are context come one after another, and so do those that are learnt; turns say in
// which order they were.
class Dataset {
 public:
  static Dataset open(const fs::path& directory, DataSplit split, const ShardShare& checked = {});
  // Skips the directories without the split; only `train` must be in every directory. DataError if tokenizers, kinds
  // or conventions of source sequences differ: it names both directories and the difference.
  static Dataset open(const std::vector<DatasetSource>& sources, DataSplit split, const ShardShare& checked = {});
  static std::vector<DataSplit> splits(const fs::path& directory);                    // those that the directory holds
  static bool has_split(const std::vector<DatasetSource>& sources, DataSplit split);  // whether any directory has it
  ~Dataset();
  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;

  const DatasetHeader& header() const;
  std::string name() const;  // the directories, for messages
  // What is missing in an earlier version of the format, and how to have it, for a log; empty for this one.
  std::string earlier_format() const;
  const std::vector<DatasetPart>& parts() const;
  int64_t opened_shards() const;  // number of shard openings so far

  // Stream: all documents end to end, each followed by the tokenizer's eos if it has one.
  int64_t num_tokens() const;
  void read_tokens(int64_t first, std::span<int32_t> into) const;
  int64_t document_begin(int64_t document) const;  // index of the document's first token; O(log shards)

  // All kinds but Stream. A span to read into must have exactly the length of the sequence.
  int64_t num_pairs() const;
  int32_t source_length(int64_t pair) const;  // O(log shards)
  int32_t target_length(int64_t pair) const;
  // The lengths of all pairs, in order, for batch plans. Reads many lengths at a time, not one pair's.
  void all_lengths(std::vector<int32_t>& source, std::vector<int32_t>& target) const;
  void read_source(int64_t pair, std::span<int32_t> into) const;
  void read_target(int64_t pair, std::span<int32_t> into) const;
  // Pairs; requires header().references. The target's text as the input file holds it, neither truncated nor decoded.
  std::string read_reference(int64_t pair) const;
  // Chats: the lengths of parts of the conversation, which are context and learnt in turn. DataError if their sums are
  // not the lengths of source and target.
  std::vector<int32_t> read_turns(int64_t conversation) const;

  // The tokenizers of the (first) directory. DataError if a file's hash differs from the one that the dataset states.
  std::shared_ptr<const Tokenizer> load_source_tokenizer() const;
  std::shared_ptr<const Tokenizer> load_target_tokenizer() const;

 private:
  class State;
  explicit Dataset(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

}  // namespace weft
