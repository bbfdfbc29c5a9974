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
};
template <>
struct EnumNames<DatasetKind> {
  static constexpr auto kNames = enum_names<DatasetKind>("stream", "pairs", "answers");
};
constexpr bool has_two_sides(DatasetKind kind) { return kind != DatasetKind::Stream; }

// The vocabulary and the special ids of one side.
struct DatasetSide {
  uint64_t tokenizer_hash = 0;
  int64_t vocabulary = 0;  // every id is in [0, vocabulary)
  std::optional<int32_t> bos, eos, pad, unk;
  int64_t num_tokens = 0;      // of this split, specials included
  int64_t num_unknown = 0;     // of these, that stand for text that the tokenizer does not know
  int64_t longest = 0;         // Pairs, Answers: tokens in the longest sequence
  std::string tokenizer_file;  // within the dataset's directory
};

// One split, as its manifest and its shards state it; of several directories their sums.
struct DatasetHeader {
  int version = 0;  // the lowest
  DatasetKind kind = DatasetKind::Stream;
  DataSplit split = DataSplit::Train;
  DatasetSide source;         // Stream: the only side
  DatasetSide target;         // Stream: equal to source
  int token_bytes = 0;        // on disk: 2 (unsigned, both vocabularies at most 65536) or 4
  int64_t num_tokens = 0;     // both sides together
  int64_t num_documents = 0;  // Stream
  int64_t num_pairs = 0;      // Pairs, Answers
  int64_t num_shards = 0;
  bool references = false;      // Pairs: the text of each target is there, in every directory
  int64_t dropped_pairs = 0;    // by preparation
  int64_t truncated_pairs = 0;  // that have lost text
};

// A prepared directory, and its weight if several are mixed (data/batches/mixture.h).
struct DatasetSource {
  fs::path directory;
  double weight = 1;
};

// ConfigError unless each is named once, since a dataset that is named twice would have two orders, and weights are
// above 0. Touches no file.
void check_sources(const std::vector<DatasetSource>& sources);

// The part of a dataset that comes from one directory: a stretch of its tokens, and its records.
struct DatasetPart {
  fs::path directory;
  double weight = 1;
  int64_t first_token = 0, num_tokens = 0;  // both sides together
  int64_t num_records = 0;
  uint64_t content = 0;  // of the shards' checksums, in order: another text, split or order is another number
};

// The shards that one of several readers checks on opening: part, part + of, part + 2 of, ...
struct ShardShare {
  int64_t part = 0;
  int64_t of = 1;  // 0: none is checked
  static ShardShare none() { return {0, 0}; }
};

// One split of a prepared directory (docs/formats.md "Dataset"), or of several, one after the other as if they were
// one, read-only: any number of processes may read it at once, nothing is locked and nothing is written beside it.
// Sizes and the checksums of everything but the tokens are checked before HDF5 sees a file: of a share of the shards on
// opening, of the others when they are first read; at most 64 of them are open. verify_dataset() re-reads the tokens
// too. Every method may be called from many threads at once. Bad arguments are InternalErrors; damage is a DataError
// that names the file.
//
// Sequences of Pairs are as the model sees them: the source with the specials that its preparation chose, the target as
// bos, text, eos, so that n + 1 tokens give n decoder inputs and n labels. Answers are text, eos, their prompts text.
class Dataset {
 public:
  static Dataset open(const fs::path& directory, DataSplit split, const ShardShare& checked = {});
  // Of several directories those that have the split; all must have `train`. DataError if tokenizers, kinds or the
  // conventions of source sequences differ: it names both directories and the difference.
  static Dataset open(const std::vector<DatasetSource>& sources, DataSplit split, const ShardShare& checked = {});
  static std::vector<DataSplit> splits(const fs::path& directory);                    // those that the directory holds
  static bool has_split(const std::vector<DatasetSource>& sources, DataSplit split);  // whether any directory has it
  ~Dataset();
  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;

  const DatasetHeader& header() const;
  std::string name() const;  // the directories, for messages
  const std::vector<DatasetPart>& parts() const;
  int64_t opened_shards() const;  // how often a shard was opened so far

  // Stream: all documents end to end, each followed by the tokenizer's eos if it has one.
  int64_t num_tokens() const;
  void read_tokens(int64_t first, std::span<int32_t> into) const;
  int64_t document_begin(int64_t document) const;  // index of its first token; O(log shards)

  // Pairs and Answers. Spans are exactly as long as the sequence.
  int64_t num_pairs() const;
  int32_t source_length(int64_t pair) const;  // O(log shards)
  int32_t target_length(int64_t pair) const;
  // Lengths of all pairs, in order, without a read for each: for batch plans.
  void all_lengths(std::vector<int32_t>& source, std::vector<int32_t>& target) const;
  void read_source(int64_t pair, std::span<int32_t> into) const;
  void read_target(int64_t pair, std::span<int32_t> into) const;
  // If header().references: the target's text as the file of text holds it, neither cut nor made of tokens.
  std::string read_reference(int64_t pair) const;

  // The (first) directory's own tokenizers; DataError if a file's hash is not the one that made the ids.
  std::shared_ptr<const Tokenizer> load_source_tokenizer() const;
  std::shared_ptr<const Tokenizer> load_target_tokenizer() const;

 private:
  class State;
  explicit Dataset(std::unique_ptr<const State> state);
  std::unique_ptr<const State> state_;
};

}  // namespace weft
